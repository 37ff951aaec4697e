/**
 * A question of the agent: may it do this? With the agent's own options by name.
 *
 * The buttons do nothing for the first half second, so that a click or a key meant for what stood there before
 * cannot answer; the keyboard goes to the card only when the reader is in this view and not typing.
 */
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ConfirmationOption, ToolCallPendingConfirmationState } from "../../state/types.gen";
import { usePlace, useView } from "../context";
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
  const { store, root } = useView();
  const { chat } = usePlace();
  const title = useId();
  const card = useRef<HTMLDivElement>(null);
  const options = call.options?.length ? call.options : PLAIN_OPTIONS;
  const armed = useArmed(options.map((option) => option.id).join("\n"));
  useLayoutEffect(() => {
    if (mayTakeFocus(root)) card.current?.focus({ preventScroll: true });
  }, [root]);

  const answer = (option: ConfirmationOption) => {
    if (!armed) return;
    const approved = option.kind === "approve";
    const holder = card.current?.parentElement;
    const hadFocus = card.current?.contains(root.activeElement);
    store.dispatch(chat, {
      type: "chat/toolCallConfirmed",
      turnId,
      toolCallId: call.toolCallId,
      approved,
      ...(approved ? { confirmed: "user-action" } : { reason: "denied" }),
      ...(option.id === "" ? {} : { selectedOptionId: option.id }),
    });
    if (hadFocus) holder?.focus({ preventScroll: true });
  };

  return (
    <div class="permission" role="group" aria-labelledby={title} ref={card} tabIndex={-1}>
      <div class="permission-head">
        <Icon name="shield" />
        <span id={title}>
          <strong>{coded(line(textOf(call.confirmationTitle)) || "Permission needed")}</strong>
        </span>
      </div>
      {textOf(call.confirmationTitle) !== call.displayName && (
        <div class="permission-what">
          <Icon name={kindIcon(call)} />
          <span>{coded(toolTitle(call))}</span>
        </div>
      )}
      <Places call={call} />
      {textOf(call.invocationMessage) !== "" && textOf(call.invocationMessage) !== call.displayName && (
        <div class="permission-why">
          <Text text={call.invocationMessage} />
        </div>
      )}
      <div class="permission-body">
        <ToolBody id={`${turnId} ${call.toolCallId} ask`} call={call} />
      </div>
      <div class="permission-options" data-armed={armed}>
        {options.map((option) => (
          <button
            key={option.id + option.kind}
            type="button"
            class={`button ${option.kind === "approve" ? "primary" : "secondary"}${isLasting(option) ? " lasting" : ""}`}
            aria-disabled={!armed}
            onClick={() => answer(option)}
          >
            {line(option.label, 120) || line(option.id, 120)}
          </button>
        ))}
      </div>
    </div>
  );
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

function isLasting(option: ConfirmationOption): boolean {
  return option.optionKind === "allow_always" || option.optionKind === "reject_always";
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
