/** A tool call: one line with its action and its state; inside, its input, output and changes. */
import { useState } from "preact/hooks";
import { table } from "../../state/object";
import type { ConfirmationOption, ToolCallCancelledState, ToolCallState, ToolContent } from "../../state/types.gen";
import { isChosen, isUnanswered, verdict, whyNot } from "../answered-by";
import { usePlace, useView } from "../context";
import { Button, coded, TextButton } from "../controls";
import { RunTime } from "../elapsed";
import { failed, failureSentence, isStopped } from "../failure";
import { Fold } from "../fold";
import { Icon, type IconName, Spacer, Spinner } from "../icons";
import { memo } from "../memo";
import { answerId, lastingAnswers, UNDO_FOR } from "../permission-answer";
import { line, reason, splitPath } from "../plain";
import { useAfter, useWork } from "../use-work";
import { Permission } from "./permission";
import { Differs, PreviewAfter } from "./preview";
import { textOf } from "./text";
import { inputOf, kindIcon, results, ToolBody, toolTitle } from "./tool-body";
import { walkthroughOf } from "./walkthrough";

interface Props {
  turnId: string;
  call: ToolCallState;
}

export const Tool = memo(({ turnId, call }: Props) => {
  const id = `${turnId} ${call.toolCallId}`;
  const waiting = call.status === "pending-confirmation";
  const body = toolBody(call);
  const { run, ranWithoutAsking, differences } = call.details ?? {};
  const head = (
    <>
      <Icon name={kindIcon(call)} />
      <span class="label cut">{coded(toolTitle(call))}</span>
      <Places call={call} />
      <Spacer />
      {run && <RunTime run={run} />}
      <ToolMark call={call} />
    </>
  );
  const isFresh = lastingAnswers(useView().store).has(answerId(turnId, call.toolCallId)); // the user can undo it here
  const hasDecision = isAllowed(call) && !isFresh;
  const canOpen = body.some || hasDecision || call.details?.rehearsal?.status === "ended";
  return (
    <div
      class={`card tool is-${call.status}${failed(call) ? " is-failed" : ""}`}
      data-call={call.toolCallId}
      tabIndex={-1}
    >
      {waiting && <Permission turnId={turnId} call={call} />}
      {!waiting && canOpen && (
        <Fold id={id} open={body.open} head={head}>
          <ToolBody id={id} call={call} />
          {hasDecision && <Decision turnId={turnId} call={call} />}
          <PreviewAfter turnId={turnId} call={call} />
        </Fold>
      )}
      {!waiting && !canOpen && <div class="row fold-head bare">{head}</div>}
      {failed(call) && <Failure call={call} />}
      {run && run.endedAt === undefined && call.status === "running" && <StopRun call={call} />}
      {!waiting && !hasDecision && <Decision turnId={turnId} call={call} />}
      {differences && differences.length > 0 && <Differs differences={differences} />}
      {ranWithoutAsking === true && <Unasked />}
    </div>
  );
});

/** The reason why a call failed, in one sentence; the rest is folded. */
export function Failure({ call }: { call: ToolCallState }) {
  const why = failureSentence(call);
  return why ? <p class="failure cut">{why}</p> : null;
}

/** Stops only the code in the kernel; the turn continues. */
function StopRun({ call }: { call: ToolCallState }) {
  const { store } = useView();
  const { session } = usePlace();
  const [message, say] = useState("");
  const stop = () => {
    say("Stopping…");
    store
      .request("stopToolCall", { channel: session, toolCallId: call.toolCallId })
      .catch((error) => say(reason(error)));
  };
  return (
    <div class="decision">
      <Button onClick={stop}>Stop this code</Button>
      <span role="status">{message}</span>
    </div>
  );
}

function Places({ call }: { call: ToolCallState }) {
  const place = call.details?.locations?.[0];
  if (!place || call.details?.cell) return null; // a cell is in its notebook: the title says where
  const { name } = splitPath(place.path);
  const more = (call.details?.locations?.length ?? 1) - 1;
  const row = typeof place.line === "number" ? `:${place.line}` : "";
  const where = toolTitle(call).includes(name) ? "" : line(name, 60) + row;
  if (where === "" && more === 0) return null;
  return (
    <span class="cut place" title={line(place.path, 500)}>
      {where}
      {more > 0 && ` +${more}`}
    </span>
  );
}

const CANCELLED: Record<string, string> = table({ skipped: "Stopped", "result-denied": "Not used" });

function ToolMark({ call }: { call: ToolCallState }) {
  switch (call.status) {
    case "completed":
      return call.success ? (
        <State icon="check" kind="good" said="Done" />
      ) : isStopped(call) ? (
        <State icon="stop" said="Stopped" isTextVisible />
      ) : (
        <State icon="cross" kind="bad" said="Failed" isTextVisible />
      );
    case "cancelled":
      return <State icon="stop" said={cancelled(call)} isTextVisible />;
    case "streaming":
      return <State said="Preparing" />;
    default:
      return <State said="Running" />;
  }
}

/** Returns why a call did not run; if denied, by whom. */
export function cancelled(call: ToolCallCancelledState): string {
  if (call.reason === "denied") return verdict(false, call.answeredBy);
  return CANCELLED[call.reason] ?? line(call.reason, 40);
}

interface StateProps {
  /** If absent, a spinner is shown. */
  icon?: IconName;
  kind?: string;
  said: string;
  isTextVisible?: boolean;
}

export function State({ icon, kind = "dim", said: text, isTextVisible = false }: StateProps) {
  return (
    <span class={`row state ${kind}`}>
      {icon ? <Icon name={icon} /> : <Spinner />}
      <span class={isTextVisible ? "state-text" : "sr-only"}>{text}</span>
    </span>
  );
}

/** True if the call has ended and was allowed, by anyone: its decision is then folded. */
function isAllowed(call: ToolCallState): boolean {
  return call.status === "completed" && (call.confirmed === "user-action" || call.selectedOption !== undefined);
}

/** The answer to the permission request, on one line. */
function Decision({ turnId, call }: Props) {
  const option = "selectedOption" in call ? call.selectedOption : undefined;
  const denied = call.status === "cancelled" && call.reason === "denied";
  const why = call.status === "cancelled" ? whyNot(textOf(call.reasonMessage)) : "";
  const isConfirmedByUser = "confirmed" in call && call.confirmed === "user-action";
  const by = "answeredBy" in call ? call.answeredBy : undefined;
  const unanswered = isUnanswered(by);
  if (!option && !denied && !isConfirmedByUser && !unanswered) return null;
  const allowed = !denied && !unanswered;
  const chosen = option && isChosen(by) && !isPlain(option) ? line(option.label, 80) : "";
  if (denied && !chosen && !why) return null; // the call's line shows it
  return (
    <div class={`decision ${allowed ? "allowed" : "denied"}`}>
      <Icon name="shield" />
      <span>
        {!denied && <span class="label">{verdict(allowed, by)}</span>}
        {chosen && <span class="dim"> {coded(chosen)}</span>}
        {why && <span class="dim"> {why}</span>}
        {allowed && <TakeBack id={answerId(turnId, call.toolCallId)} call={call} />}
      </span>
    </div>
  );
}

/** For ten seconds, the user can undo a lasting approval in the place where it was given. */
function TakeBack({ id, call }: { id: string; call: ToolCallState }) {
  const { store } = useView();
  const { session } = usePlace();
  const { isBusy, trouble, run } = useWork();
  const [message, say] = useState("");
  const [isOver, end] = useState(false);
  const since = lastingAnswers(store).get(id);
  const left = since === undefined ? 0 : since + UNDO_FOR - Date.now();
  useAfter(left > 0 ? left : undefined, () => end(true), [since]);
  const undo = () =>
    void run(async () => {
      await store.request("revokeGrant", { channel: session, toolCallId: call.toolCallId });
      lastingAnswers(store).delete(id);
      say("Revoked: it asks again.");
    });
  return (
    <span role="status">
      {message && <span class="dim"> {message}</span>}
      {trouble && <span class="error-text"> {trouble}</span>}
      {!message && left > 0 && !isOver && (
        <>
          {" "}
          <TextButton aria-disabled={isBusy} onClick={undo}>
            Undo
          </TextButton>
        </>
      )}
    </span>
  );
}

/** The agent ran it by itself although the permissions are Ask or Deny. */
function Unasked() {
  return (
    <div class="decision denied unasked" title="The agent did not ask. Check the agent's own mode.">
      <Icon name="shield" />
      <span class="label">Ran without asking</span>
    </div>
  );
}

/** True if an option says only yes or no, for this once. */
function isPlain({ label, optionKind }: ConfirmationOption): boolean {
  return /_once$/.test(optionKind ?? "") || /^(?:allow|reject|deny|yes|no)(?: once)?$/i.test(line(label));
}

/** Returns whether a call has something to unfold, and whether that is open at first. */
function toolBody(call: ToolCallState): { some: boolean; open: boolean } {
  const { research, run, rawOutput, content: own = [] } = call.details ?? {};
  if (research || walkthroughOf(call)) return { some: true, open: true };
  const content = run?.content ?? own;
  const has = (type: ToolContent["type"]) => content.some((piece) => piece.type === type);
  const isRunning = call.status === "running" && (run !== undefined || has("terminal"));
  return {
    some:
      run !== undefined ||
      content.length + results(call).length > 0 ||
      inputOf(call) !== "" ||
      (rawOutput ?? undefined) !== undefined ||
      failed(call),
    open:
      isRunning ||
      (has("block") && !failed(call)) ||
      (call.status === "running" && has("diff") && call.confirmed !== "user-action"),
  };
}
