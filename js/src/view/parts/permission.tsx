/**
 * A permission request in three lines: its effect and worst risk, the command, and the answers. *Allow* and *Reject*
 * are buttons; a menu has every other answer by its name: the agent's own options, the host's wider ones, editing the
 * command, and allowing all alike. The user answers a cell change in the notebook if the notebook shows it: one line
 * here then leads to it.
 *
 * The buttons do nothing for the first half second, so that a click or a key meant for something else cannot answer.
 * The card takes the keyboard's focus only when the user is in this view and not typing. On a critical request,
 * rejecting is the prominent answer.
 */
import { untracked, useComputed } from "@preact/signals";
import { useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { ConfirmationOption, ToolCallPendingConfirmationState } from "../../state/types.gen";
import { placesOf, proposalId } from "../cell-proposals";
import { useMemory, usePlace, useView } from "../context";
import { coded } from "../controls";
import { Icon } from "../icons";
import { kernelText } from "../kernel-text";
import { Menu, type MenuItem } from "../menu";
import {
  answerId,
  confirmation,
  isKept,
  isLasting,
  lastingAnswers,
  narrowest,
  optionsOf,
  pendingCalls,
} from "../permission-answer";
import { line, splitPath, worstOf } from "../plain";
import { useArmed } from "../use-work";
import { LineCount } from "./diff";
import { compare } from "./line-diff";
import { usePreview } from "./preview";
import { Text, textOf } from "./text";
import { inputOf, ToolBody, toolTitle } from "./tool-body";
import { refOf } from "./whole";

interface Props {
  turnId: string;
  call: ToolCallPendingConfirmationState;
}

export function Permission({ turnId, call }: Props) {
  const { store } = useView();
  const { chat } = usePlace();
  const id = proposalId(chat, turnId, call.toolCallId);
  const place = useComputed(() => placesOf(store).value[id]).value;
  if (place?.where) return <WaitingInCell id={id} where={place.where} turnId={turnId} call={call} />;
  return <Card turnId={turnId} call={call} obstacle={place?.obstacle ?? ""} />;
}

/** The cell's number in a title that also gives its place. */
const NUMBERED = / In \[\d+\]:?(?= )/;

/** One line for all cell changes that wait in the notebook, shown at the first of them. */
function WaitingInCell({ id, where, turnId, call }: Props & { id: string; where: string }) {
  const { store } = useView();
  const { chat } = usePlace();
  const [button, result] = usePreview({ turnId, call });
  const waiting = useComputed(() => {
    const places = placesOf(store).value;
    const ids = pendingCalls(store.chat(chat).value?.activeTurn).map((one) => proposalId(chat, turnId, one.toolCallId));
    return ids.filter((one) => places[one]?.where).join("\n");
  }).value.split("\n");
  if (waiting[0] !== id) return null;
  const isOne = waiting.length === 1;
  return (
    <div class="waiting-in-cell">
      <div class="row">
        <button type="button" class="row waiting-link" onClick={() => store.notebook?.showProposal?.(id)}>
          <Icon name="shield" />
          <span>Waiting {isOne ? where : `in ${waiting.length} cells`} →</span>
          {isOne && <span class="cut dim">{coded(askTitle(call).replace(NUMBERED, ""))}</span>}
        </button>
        {isOne && button}
      </div>
      {isOne && result}
    </div>
  );
}

/** `obstacle`: the reason why it cannot be allowed in the notebook's current state; "" if it can. */
function Card({ turnId, call, obstacle }: Props & { obstacle: string }) {
  const { store, root, memory } = useView();
  const { chat } = usePlace();
  const title = useId();
  const card = useRef<HTMLDivElement>(null);
  const options = optionsOf(call).filter(({ kind }) => !obstacle || kind === "deny");
  const alike = useAlike(turnId, call);
  const armed = useArmed(options.map(({ id }) => id).join("\n"));
  // Armed again when the list changes: a click may be meant for fewer requests.
  const alikeArmed = useArmed(alike.map((one) => one.toolCallId).join("\n"));
  const [edited, edit] = useMemory<string | undefined>(editKey(turnId, call.toolCallId), undefined);
  const [preview, previewed] = usePreview({ turnId, call, edited });
  useLayoutEffect(() => {
    if (mayTakeFocus(root)) card.current?.focus({ preventScroll: true });
  }, [root]);

  const send = (toolCallId: string, option: ConfirmationOption, editedToolInput?: string) => {
    store.dispatch(chat, confirmation(turnId, toolCallId, option, editedToolInput));
  };
  const answer = (option: ConfirmationOption) => {
    if (!armed) return;
    const holder = card.current?.parentElement;
    const hadFocus = card.current?.contains(root.activeElement);
    if (isKept(option)) lastingAnswers(store).set(answerId(turnId, call.toolCallId), Date.now());
    send(call.toolCallId, option, edited);
    if (hadFocus) holder?.focus({ preventScroll: true });
  };

  const answerAll = () => {
    if (!armed || !alikeArmed) return;
    card.current?.parentElement?.focus({ preventScroll: true });
    for (const { toolCallId, ...one } of alike) {
      const changed = memory.get(editKey(turnId, toolCallId)) as string | undefined;
      send(toolCallId, once(one) as ConfirmationOption, changed);
    }
  };
  const isCritical = call.risk?.severity === "critical";
  const allow = narrowest(options, "approve");
  const reject = narrowest(options, "deny");
  const button = (option: ConfirmationOption | undefined, style: string) =>
    option && (
      <button type="button" class={`button small ${style}`} aria-disabled={!armed} onClick={() => answer(option)}>
        <span>{coded(nameOf(option))}</span>
      </button>
    );
  const others: MenuItem[] = options
    .filter((option) => option !== allow && option !== reject)
    .map((option) => ({
      key: option.id + option.kind,
      name: coded(nameOf(option)),
      detail: isLasting(option) && !option.group ? "As the agent defines it" : undefined,
      onSelect: () => answer(option),
    }));
  if (alike.length > 1 && !obstacle)
    others.unshift({
      key: "alike",
      name: `Allow all ${alike.length} ${line(call.risk?.like, 80)} once`,
      onSelect: answerAll,
    });
  if (call.editable && edited === undefined)
    others.unshift({ key: "edit", name: "Edit the command…", onSelect: () => edit(call.toolInput ?? "") });
  return (
    <div class="permission" role="group" aria-labelledby={title} ref={card} tabIndex={-1}>
      <Sentence id={title} call={call} obstacle={obstacle} />
      <What turnId={turnId} call={call} />
      {edited !== undefined && (
        <textarea
          class="permission-edit"
          aria-label="The command to run instead"
          rows={Math.min(8, edited.split("\n").length)}
          value={edited}
          onInput={(event) => edit(event.currentTarget.value)}
        />
      )}
      <div class="permission-options" data-armed={armed}>
        {!obstacle && preview}
        <span class="row allow">
          {button(allow, isCritical ? "danger" : "primary")}
          {others.length > 0 && (
            <Menu
              label="More options"
              items={others.reverse()}
              className="button small more"
              placement="above"
              inert={!armed}
              settles
            >
              <Icon name="chevron" className="menu-mark" />
            </Menu>
          )}
        </span>
        {button(reject, isCritical || obstacle ? "primary" : "")}
      </div>
      {previewed}
    </div>
  );
}

/** The effect and the worst risk; all reasons are in the tooltip, and below the command. */
function Sentence({ id, call, obstacle }: { id: string; call: Props["call"]; obstacle: string }) {
  const { severity = "", reason = "" } = call.risk ?? {};
  const sentence = obstacle || worstOf(reason) || line(textOf(call.confirmationTitle)) || "Permission required";
  return (
    <div class={`permission-head is-${line(severity, 20)}`} title={line(reason, 600) || undefined}>
      <Icon name="shield" />
      <span id={id} class="permission-risk" role={obstacle ? "status" : undefined}>
        {/^(high|critical)$/.test(severity) && !obstacle && <b>{line(severity, 20)}: </b>}
        {coded(line(sentence, 300))}
      </span>
    </div>
  );
}

/** The command or change on one line; on demand, all of it and the agent's other details. */
function What({ turnId, call }: Props) {
  const [isOpen, open] = useMemory(`fold ${turnId} ${call.toolCallId} ask`, false);
  const input = inputOf(call).trim();
  const kind = call.details?.kind;
  const isCommand = (kind === "execute" || kind === "kernel") && input !== "";
  const [first = "", ...rest] = input.split("\n");
  const places = call.details?.locations ?? [];
  const title = kind === "kernel" ? askTitle(call) : toolTitle(call);
  const named = places[0]?.path ?? "";
  const where =
    !isCommand && named && !title.includes(splitPath(named).name) ? ` ${line(splitPath(named).name, 60)}` : "";
  const reasons = line(call.risk?.reason, 600);
  const says = [textOf(call.confirmationTitle), textOf(call.invocationMessage)].filter(
    (text, at, all) => text && all.indexOf(text) === at && !isSaid(text, title, input),
  );
  const isLong = isCommand ? first.length > SHORT || rest.length > 0 : title.length + where.length > SHORT;
  const hasMore =
    isLong ||
    says.length > 0 ||
    reasons !== worstOf(reasons) ||
    (call.details?.content ?? []).some(({ type }) => type !== "terminal") ||
    (!isCommand && input !== "" && input !== "{}");
  const text = (
    <>
      {isCommand ? (
        <code class="cut">
          {kind === "execute" && (
            <span class="sign" aria-hidden="true">
              ${" "}
            </span>
          )}
          {line(first, 400)}
        </code>
      ) : (
        <span class="cut">
          {coded(title)}
          {where && <span class="path">{where}</span>}
        </span>
      )}
      {isCommand && rest.length > 0 && <span class="dim small more-lines">+{rest.length} lines</span>}
      <Lines call={call} />
    </>
  );
  const paths =
    places.map(({ path }) => line(path, 500)).join("\n") || (isCommand ? title.replaceAll("`", "") : undefined);
  if (!hasMore)
    return (
      <div class="row permission-what" title={paths}>
        {text}
      </div>
    );
  return (
    <>
      <button
        type="button"
        class="row permission-what"
        title={paths}
        aria-expanded={isOpen}
        onClick={() => open(!isOpen)}
      >
        <Icon name="chevron" className="fold-mark" />
        {text}
      </button>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must be reachable by keyboard
        <section class="permission-body" tabIndex={0} aria-label="Details">
          {reasons !== worstOf(reasons) && <p class="permission-reasons">{reasons}</p>}
          {says.map((text) => (
            <div key={text} class="permission-why">
              <Text text={text} />
            </div>
          ))}
          <ToolBody id={`${turnId} ${call.toolCallId} ask`} call={call} />
        </section>
      )}
    </>
  );
}

/** Returns the request's own question, or else the tool call's title. */
function askTitle(call: Props["call"]): string {
  return line(textOf(call.confirmationTitle)) || toolTitle(call);
}

/** The number of characters of a command that fit on a line of a narrow sidebar. */
const SHORT = 44;

/** True if one of the lines already has this text, as code or not. */
function isSaid(text: string, ...lines: readonly string[]): boolean {
  const bare = (one: string) => one.replaceAll("`", "").trim();
  return lines.some((one) => bare(one) === bare(text));
}

/** The numbers of added and removed lines in files. */
function Lines({ call }: { call: Props["call"] }) {
  const content = call.details?.content;
  const sum = useMemo(() => {
    const sum = { added: 0, removed: 0 };
    const diffs = content?.filter((piece) => piece.type === "diff") ?? [];
    for (const diff of diffs) {
      const change =
        refOf(diff, "oldText") || refOf(diff, "newText") ? undefined : compare(diff.oldText ?? "", diff.newText);
      if (!change) return undefined;
      sum.added += change.added;
      sum.removed += change.removed;
    }
    return diffs.length ? sum : undefined;
  }, [content]);
  return sum ? <LineCount {...sum} /> : null;
}

/** Returns the key under which this view remembers the command as the user has edited it. */
const editKey = (turnId: string, toolCallId: string) => `${turnId} ${toolCallId} edit`;

/** Returns this request and the similar ones of the turn that can be allowed once. */
function useAlike(turnId: string, call: ToolCallPendingConfirmationState): ToolCallPendingConfirmationState[] {
  const { store, cadence } = useView();
  const { chat } = usePlace();
  const state = cadence.paced(store.chat(chat));
  const like = call.risk?.like;
  const find = () =>
    pendingCalls(like ? state.value?.activeTurn : undefined).filter(
      (one) =>
        one.risk?.like === like &&
        one.risk?.severity !== "critical" &&
        once(one) &&
        !(proposalId(chat, turnId, one.toolCallId) in placesOf(store).value),
    );
  // Drawn again when the requests change, not at every word that the agent writes meanwhile.
  const ids = useComputed(() =>
    find()
      .map((one) => one.toolCallId)
      .join(),
  ).value;
  return useMemo(() => untracked(find), [ids]);
}

function once(call: Pick<ToolCallPendingConfirmationState, "options">): ConfirmationOption | undefined {
  return call.options?.find((option) => option.optionKind === "allow_once");
}

function nameOf(option: ConfirmationOption): string {
  const label = line(option.label, 120) || line(option.id, 120);
  return option.id.startsWith("agentnb:") ? kernelText(label) : label; // an agent's own words stay as they are
}

/** True if the focus is in this view or nowhere, and not in a text field or an open menu. */
function mayTakeFocus(root: ShadowRoot): boolean {
  const outer = document.activeElement;
  const inner = root.activeElement;
  if (inner) return !inner.matches("textarea, input, select, [contenteditable], [role=menuitem]");
  return outer === null || outer === document.body;
}
