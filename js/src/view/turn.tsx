/** One turn: the user's message, the answer and its end. */

import { useComputed } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import { waitingRequests } from "../state/chat-inputs";
import { turnError } from "../state/chat-turns";
import { table } from "../state/object";
import type { ActiveTurn, ResponsePart, ToolCallState, Turn, UsageInfo } from "../state/types.gen";
import { ErrorCard } from "./cards";
import { PlaceContext, usePlace, useView } from "./context";
import { Button, coded, TextButton } from "./controls";
import { CopyButton } from "./copy";
import { Took, useElapsed } from "./elapsed";
import { failed } from "./failure";
import { FoldHead } from "./fold";
import { Icon, Spacer } from "./icons";
import { uuid } from "./identity";
import { memo } from "./memo";
import { TurnChanges } from "./parts/change-set";
import { UserMessage } from "./parts/message";
import { Part, partId, partKey } from "./parts/part";
import { writtenPlan } from "./parts/plan";
import { cancelled, Failure, State } from "./parts/tool";
import { kindIcon, toolTitle } from "./parts/tool-body";
import { pendingCalls } from "./permission-answer";
import { count, duration, line } from "./plain";
import { TurnMenu } from "./rewind";
import type { AnyTurn } from "./store";
import { answerLines, callsOf, runTitle } from "./tool-runs";

export function isActive(turn: AnyTurn): turn is ActiveTurn {
  return !("state" in turn);
}

interface ItemProps {
  turn: AnyTurn;
  /** True if it failed and was sent again right after: then its failure is only a note. */
  isRetried: boolean;
}

export const TurnItem = memo(({ turn, isRetried }: ItemProps) => (
  <article class="turn" data-turn={turn.id} aria-label={line(turn.message.text, 80) || "Turn"}>
    <UserMessage message={turn.message} />
    <Answer turn={turn} />
    {!isActive(turn) && <TurnChanges turn={turn} />}
    {isActive(turn) ? <Working turn={turn} /> : <TurnEnd turn={turn} isRetried={isRetried} />}
  </article>
));

/** Number of calls of an opened run that are drawn at first, and with each click. */
const SHOWN = 100;

export const Answer = memo(({ turn }: { turn: AnyTurn }) => {
  const { store, memory, root } = useView();
  const { chat, session } = usePlace();
  const place = useMemo(() => ({ chat, session, turnId: turn.id }), [chat, session, turn.id]);
  const [, redraw] = useState(0);
  const parts = turn.responseParts;
  const live = isActive(turn) ? parts.length - 1 : -1;
  const visibleParts = [...parts.keys()].filter((at) => isShown(turn, parts[at] as ResponsePart, at));
  const draw = (at: number, inRun = false) => {
    const part = parts[at] as ResponsePart;
    return <Part key={partKey(part, at)} turnId={turn.id} part={part} index={at} live={at === live} inRun={inRun} />;
  };
  const idAt = (at: number) => partId(turn.id, parts[at] as ResponsePart, at);
  const focused = root.activeElement?.closest<HTMLElement>("[data-call]")?.dataset.call;
  const isUsed = (at: number) => memory.get(`fold ${idAt(at)}`) === true || idAt(at) === `${turn.id} ${focused}`;
  const remembered = (name: string, run: readonly number[]) =>
    run.map((at) => memory.get(`${name} ${idAt(at)}`)).find((one) => one !== undefined);
  const remember = (name: string, run: readonly number[], value: unknown) => {
    memory.set(`${name} ${idAt(run[0] as number)}`, value);
    redraw((times) => times + 1);
  };
  const drawRun = (run: readonly number[], number: number) => {
    const chosen = remembered("run", run);
    // Keeps a run open if the user has opened one of its calls or has the focus in one.
    const isOpen = chosen === undefined ? run.some(isUsed) : chosen === true;
    const most = Number(remembered("run shown", run) ?? SHOWN);
    return [
      <RunHead
        key={`run ${number}`}
        calls={callsOf(parts, run)}
        isOpen={isOpen}
        onToggle={() => remember("run", run, !isOpen)}
      />,
      ...(isOpen ? run.slice(0, most).map((at) => draw(at, true)) : []),
      isOpen && run.length > most && (
        <TextButton key={`more ${number}`} class="in-run" onClick={() => remember("run shown", run, most + SHOWN)}>
          Show {count(Math.min(SHOWN, run.length - most))} more of {count(run.length)}
        </TextButton>
      ),
    ];
  };
  return (
    <PlaceContext.Provider value={place}>
      <div class="answer">
        {answerLines(parts, visibleParts, store.chat(chat).peek()?.terminals, live).flatMap((line, number) =>
          typeof line === "number" ? [draw(line)] : drawRun(line, number),
        )}
      </div>
    </PlaceContext.Provider>
  );
});

interface RunProps {
  calls: readonly ToolCallState[];
  isOpen: boolean;
  onToggle: () => void;
}

/** The line that a run of calls folds into. The calls follow it in the answer, so that they keep their DOM nodes. */
function RunHead({ calls, isOpen, onToggle }: RunProps) {
  const first = calls[0] as ToolCallState;
  const isBad = failed(first);
  const isOne = calls.every((call) => toolTitle(call) === toolTitle(first));
  const times = `${count(calls.length)} times`;
  return (
    <div class="part part-toolCall">
      <div class={`card tool tool-run${isBad ? " is-failed" : ""}`} data-open={isOpen}>
        <FoldHead isOpen={isOpen} onToggle={onToggle}>
          <Icon name={kindIcon(first)} />
          {first.status === "completed" && first.success ? (
            <span class="label cut">{runTitle(calls)}</span>
          ) : (
            <>
              <span class="label cut">{isBad || isOne ? coded(toolTitle(first)) : `${count(calls.length)} steps`}</span>
              <Spacer />
              {isBad ? (
                <State icon="cross" kind="bad" said={`Failed ${times}`} isTextVisible />
              ) : (
                first.status === "cancelled" && (
                  <State icon="stop" said={`${cancelled(first)}${isOne ? ` ${times}` : ""}`} isTextVisible />
                )
              )}
            </>
          )}
        </FoldHead>
        {isBad && <Failure call={first} />}
      </div>
    </div>
  );
}

/**
 * True if a part is drawn in the answer. A question waits in a form below it, and an error is shown at its end; a
 * written plan is sent whole with each change: only the last one counts.
 */
function isShown(turn: AnyTurn, part: ResponsePart, at: number): boolean {
  if (part.kind === "inputRequest" || part.kind === "error") return false;
  const plan = writtenPlan(part);
  if (plan === undefined) return true;
  return !turn.responseParts.some((other, index) => index > at && writtenPlan(other)?.planId === plan.planId);
}

/** The line below a running answer; hidden while a question waits for the user. */
function Working({ turn }: { turn: ActiveTurn }) {
  const elapsed = useElapsed(turn);
  const { store } = useView();
  const { chat } = usePlace();
  const silence = useSilence();
  if (pendingCalls(turn).length > 0 || waitingRequests(store.chat(chat).peek()).length > 0) return null;
  return (
    <div class="row working">
      <span class="dots" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      <span class="dim">{elapsed >= 3000 ? duration(elapsed) : "Working…"}</span>
      {silence && <span class="dim">· {silence}</span>}
    </div>
  );
}

/** Returns how long the agent has been silent, in words, if it is long. */
export function useSilence(): string {
  const { store } = useView();
  return line(store.session(usePlace().session).value?.activity, 60);
}

const NOT_STARTED: ReadonlySet<string> = new Set(["AgentStartFailed", "AgentNotFound"]);

interface EndProps {
  turn: Turn;
  inCell?: boolean;
  isRetried?: boolean;
}

/** Shows how the turn ended, and its actions, which are visible while the pointer or the focus is in the turn. */
export function TurnEnd({ turn, inCell = false, isRetried = false }: EndProps) {
  const note = isRetried ? "Failed, then sent again" : endNote(turn);
  const usage = usageText(turn.usage);
  const text = answerText(turn);
  const error = turnError(turn);
  return (
    <>
      {error && !isRetried && (
        <ErrorCard
          title={NOT_STARTED.has(error.errorType) ? "The agent couldn't start" : "The turn failed"}
          message={error.message}
          action={<Again turn={turn} />}
        />
      )}
      {note && <p class="dim turn-note">{note}</p>}
      <div class="row turn-end">
        {text && <CopyButton text={text} label="Copy answer" />}
        <TurnMenu turn={turn} inCell={inCell} />
        <Took turn={turn} />
        {usage && <span class="dim usage">{usage}</span>}
      </div>
    </>
  );
}

/** Sends the message of a failed turn again, as long as it is the last turn. */
function Again({ turn }: { turn: Turn }) {
  const { store } = useView();
  const { chat } = usePlace();
  const state = store.chat(chat);
  const isLast = useComputed(() => !state.value?.activeTurn && state.value?.turns.at(-1)?.id === turn.id);
  if (!isLast.value) return null;
  const again = () => {
    const { message } = turn;
    store.dispatch(chat, { type: "chat/turnStarted", turnId: uuid(), message, time: Date.now() });
  };
  return (
    <div class="row wraps restart">
      <Button onClick={again}>
        <Icon name="restart" />
        Send again
      </Button>
    </div>
  );
}

const STOPPED: Record<string, string> = table({
  max_tokens: "Answer cut off: token limit reached",
  max_turn_requests: "Answer cut off: request limit reached",
  refusal: "The agent refused to continue",
});

export function endNote(turn: Turn): string {
  if (turn.state === "cancelled") return "Stopped";
  const reason = turn.stopReason;
  if (!reason || reason === "end_turn" || turn.state === "error") return "";
  return STOPPED[reason] ?? `Ended: ${line(reason, 60)}`;
}

export function usageText(usage: UsageInfo | null | undefined): string {
  if (!usage) return "";
  const pieces = [];
  if (typeof usage.inputTokens === "number") pieces.push(`${count(usage.inputTokens)} in`);
  if (typeof usage.outputTokens === "number") pieces.push(`${count(usage.outputTokens)} out`);
  return pieces.length > 0 ? `${pieces.join(" · ")} tokens` : "";
}

export function answerText(turn: AnyTurn): string {
  return turn.responseParts
    .map((part) => (part.kind === "markdown" ? part.content : ""))
    .filter(Boolean)
    .join("\n\n");
}
