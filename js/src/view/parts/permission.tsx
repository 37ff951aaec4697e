/**
 * A question of the agent: may it do this? With the agent's own options by name.
 *
 * The buttons do nothing for the first half second, so that a click or a key meant for what stood there before
 * cannot answer; the keyboard goes to the card only when the reader is in this view and not typing. Beside the agent's
 * options stand the host's wider ones (for the turn, the session, always), and one that answers all that is alike.
 */
import { untracked, useComputed } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ConfirmationOption, ToolCallPendingConfirmationState } from "../../state/types.gen";
import { useMemory, usePlace, useView } from "../context";
import { Icon } from "../icons";
import { line } from "../plain";
import { Text, textOf } from "./text";
import { coded, kindIcon, ToolBody, toolTitle } from "./tool";

export const INERT_FOR = 500;

const PLAIN_OPTIONS: readonly ConfirmationOption[] = [
  { id: "", label: "Allow", kind: "approve" },
  { id: "", label: "Deny", kind: "deny" },
];

interface Props {
  turnId: string;
  call: ToolCallPendingConfirmationState;
}

export function Permission({ turnId, call }: Props) {
  const { store, root, memory } = useView();
  const { chat } = usePlace();
  const title = useId();
  const card = useRef<HTMLDivElement>(null);
  const options = call.options?.length ? call.options : PLAIN_OPTIONS;
  const alike = useAlike(call);
  const armed = useArmed([...options, ...alike.map((one) => ({ id: one.toolCallId }))].map(({ id }) => id).join("\n"));
  const [edited, edit] = useMemory<string | undefined>(editKey(turnId, call.toolCallId), undefined);
  useLayoutEffect(() => {
    if (mayTakeFocus(root)) card.current?.focus({ preventScroll: true });
  }, [root]);

  const send = (toolCallId: string, option: ConfirmationOption, editedToolInput?: string) => {
    const approved = option.kind === "approve";
    store.dispatch(chat, {
      type: "chat/toolCallConfirmed",
      turnId,
      toolCallId,
      approved,
      ...(approved ? { confirmed: "user-action" } : { reason: "denied" }),
      ...(approved && editedToolInput?.trim() ? { editedToolInput } : {}),
      ...(option.id === "" ? {} : { selectedOptionId: option.id }),
    });
  };
  const answer = (option: ConfirmationOption) => {
    if (!armed) return;
    const holder = card.current?.parentElement;
    const hadFocus = card.current?.contains(root.activeElement);
    send(call.toolCallId, option, edited);
    if (hadFocus) holder?.focus({ preventScroll: true });
  };

  const answerAll = () => {
    if (!armed) return;
    card.current?.parentElement?.focus({ preventScroll: true });
    for (const { toolCallId, ...one } of alike) {
      const changed = memory.get(editKey(turnId, toolCallId)) as string | undefined;
      send(toolCallId, once(one) as ConfirmationOption, changed);
    }
  };
  const button = (option: ConfirmationOption, style: string) => (
    <button
      key={option.id + option.kind}
      type="button"
      class={`button ${style}${isLasting(option) ? " lasting" : ""}`}
      aria-disabled={!armed}
      onClick={() => answer(option)}
    >
      <span>{coded(line(option.label, 120) || line(option.id, 120))}</span>
    </button>
  );
  return (
    <div class="permission" role="group" aria-labelledby={title} ref={card} tabIndex={-1}>
      <div class="permission-head">
        <Icon name="shield" />
        <span id={title}>
          <strong>{coded(line(textOf(call.confirmationTitle)) || "Permission needed")}</strong>
        </span>
      </div>
      {textOf(call.confirmationTitle) !== call.displayName && call.displayName !== `\`${call.toolInput}\`` && (
        <div class="permission-what">
          <Icon name={kindIcon(call)} />
          <span>{coded(toolTitle(call))}</span>
        </div>
      )}
      <Places call={call} />
      {call.risk && (
        <p class={`permission-risk is-${line(call.risk.severity, 20)}`}>
          <b>{line(call.risk.severity, 20)}</b> {line(call.risk.reason, 400)}
        </p>
      )}
      {!["", call.displayName, textOf(call.confirmationTitle)].includes(textOf(call.invocationMessage)) && (
        <div class="permission-why">
          <Text text={call.invocationMessage} />
        </div>
      )}
      <div class="permission-body">
        <ToolBody id={`${turnId} ${call.toolCallId} ask`} call={call} />
        {edited !== undefined && (
          <textarea
            class="permission-edit"
            aria-label="The command to run instead"
            rows={Math.min(8, edited.split("\n").length)}
            value={edited}
            onInput={(event) => edit(event.currentTarget.value)}
          />
        )}
      </div>
      <div class="permission-options" data-armed={armed}>
        {options.map((option) =>
          option.group ? null : button(option, option.kind === "approve" ? "primary" : "secondary"),
        )}
        {call.editable && edited === undefined && (
          <button type="button" class="button secondary" onClick={() => edit(call.toolInput ?? "")}>
            Edit
          </button>
        )}
      </div>
      <div class="permission-options wider" data-armed={armed}>
        {options.map((option) => (option.group ? button(option, "secondary") : null))}
        {alike.length > 1 && (
          <button type="button" class="button secondary" aria-disabled={!armed} onClick={answerAll}>
            Allow all {alike.length} {line(call.risk?.like, 80)} once
          </button>
        )}
      </div>
    </div>
  );
}

/** Where this view remembers the command as the reader has changed it. */
function editKey(turnId: string, toolCallId: string): string {
  return `${turnId} ${toolCallId} edit`;
}

function Places({ call }: { call: ToolCallPendingConfirmationState }) {
  const places = call.details?.locations ?? [];
  if (places.length === 0) return null;
  return (
    <ul class="permission-places">
      {places.slice(0, 8).map((place) => (
        <li class="path">
          {line(place.path, 500)}
          {typeof place.line === "number" && `:${place.line}`}
        </li>
      ))}
      {places.length > 8 && <li class="dim">and {places.length - 8} more</li>}
    </ul>
  );
}

/** This question and the others of the turn that are like it and can be allowed once. */
function useAlike(call: ToolCallPendingConfirmationState): ToolCallPendingConfirmationState[] {
  const { store, cadence } = useView();
  const state = cadence.paced(store.chat(usePlace().chat));
  const like = call.risk?.like;
  const find = () =>
    ((like && state.value?.activeTurn) || undefined)?.responseParts.flatMap((part) => {
      const one = part.kind === "toolCall" && part.toolCall;
      return one && one.status === "pending-confirmation" && one.risk?.like === like && mild(one) ? [one] : [];
    }) ?? [];
  // Drawn again when the questions change, not at every word that the agent says meanwhile.
  const ids = useComputed(() =>
    find()
      .map((one) => one.toolCallId)
      .join(),
  ).value;
  return useMemo(() => untracked(find), [ids]);
}

function mild(call: ToolCallPendingConfirmationState): boolean {
  return call.risk?.severity !== "critical" && once(call) !== undefined;
}

function once(call: Pick<ToolCallPendingConfirmationState, "options">): ConfirmationOption | undefined {
  return call.options?.find((option) => option.optionKind === "allow_once");
}

function isLasting(option: ConfirmationOption): boolean {
  return /_always$/.test(option.optionKind ?? "");
}

/** False for the first half second after the card, or another set of options, has appeared. */
function useArmed(options: string): boolean {
  const [armedFor, arm] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => arm(options), INERT_FOR);
    return () => clearTimeout(timer);
  }, [options]);
  return armedFor === options;
}

/** Only from inside this view, or from nowhere, and never out of a text. */
function mayTakeFocus(root: ShadowRoot): boolean {
  const outer = document.activeElement;
  const inner = root.activeElement;
  if (inner) return !inner.matches("textarea, input, select, [contenteditable]");
  return outer === null || outer === document.body;
}
