/**
 * A permission request: one button allows, one rejects, and a menu has every other answer by its name: the agent's own
 * options, the host's wider ones (for the turn, the session, always), editing the command, and allowing all alike.
 *
 * The buttons do nothing for the first half second, so that a click or a key meant for something else cannot answer.
 * The card takes the keyboard's focus only when the reader is in this view and not typing. On a critical request
 * rejecting is the prominent answer.
 */
import { untracked, useComputed } from "@preact/signals";
import { useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { ConfirmationOption, ToolCallPendingConfirmationState } from "../../state/types.gen";
import { obstaclesOf, proposalId } from "../cell-proposals";
import { useMemory, usePlace, useView } from "../context";
import { Icon } from "../icons";
import { Menu, type MenuItem } from "../menu";
import { confirmation, isLasting, narrowest, optionsOf, pendingCalls } from "../permission-answer";
import { line } from "../plain";
import { useArmed } from "../use-work";
import { Preview } from "./preview";
import { Text, textOf } from "./text";
import { coded, kindIcon, ToolBody, toolTitle } from "./tool-body";

interface Props {
  turnId: string;
  call: ToolCallPendingConfirmationState;
}

export function Permission({ turnId, call }: Props) {
  const { store, root, memory } = useView();
  const { chat } = usePlace();
  const title = useId();
  const card = useRef<HTMLDivElement>(null);
  const proposal = proposalId(chat, turnId, call.toolCallId);
  // Why the notebook cannot take the change as it is now; "" where it can.
  const obstacle = useComputed(() => obstaclesOf(store).value[proposal] ?? "").value;
  const options = optionsOf(call).filter(({ kind }) => !obstacle || kind === "deny");
  const alike = useAlike(turnId, call);
  const armed = useArmed([...options, ...alike.map((one) => ({ id: one.toolCallId }))].map(({ id }) => id).join("\n"));
  const [edited, edit] = useMemory<string | undefined>(editKey(turnId, call.toolCallId), undefined);
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
  const why = textOf(call.invocationMessage);
  const isCritical = call.risk?.severity === "critical";
  const rejectsFirst = isCritical || obstacle !== "";
  const allow = narrowest(options, "approve");
  const reject = narrowest(options, "deny");
  const button = (option: ConfirmationOption | undefined, style: string) =>
    option && (
      <button
        type="button"
        class={`button ${style}`}
        aria-disabled={!armed}
        title={isLasting(option) ? `${nameOf(option)} (doesn't ask again)` : undefined}
        onClick={() => answer(option)}
      >
        <span>{coded(nameOf(option))}</span>
      </button>
    );
  const others: MenuItem[] = options
    .filter((option) => option !== allow && option !== reject)
    .map((option) => ({
      key: option.id + option.kind,
      name: coded(nameOf(option)),
      onSelect: () => answer(option),
    }));
  if (call.editable && edited === undefined)
    others.unshift({ key: "edit", name: "Edit the command…", onSelect: () => edit(call.toolInput ?? "") });
  if (alike.length > 1 && !obstacle)
    others.push({
      key: "alike",
      name: `Allow all ${alike.length} ${line(call.risk?.like, 80)} once`,
      onSelect: answerAll,
    });
  return (
    <div class="permission" role="group" aria-labelledby={title} ref={card} tabIndex={-1}>
      <div class="permission-head">
        <Icon name="shield" />
        <span id={title}>
          <strong>{coded(line(textOf(call.confirmationTitle)) || "Permission required")}</strong>
        </span>
      </div>
      {!isTitle(call, call.displayName) && !isCommand(call) && (
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
      {!["", call.displayName].includes(why) && !isTitle(call, why) && (
        <div class="permission-why">
          <Text text={call.invocationMessage} />
        </div>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must be reachable by keyboard */}
      <section class="permission-body" tabIndex={0} aria-label="Details">
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
      </section>
      <Preview turnId={turnId} call={call} edited={edited} />
      {obstacle && (
        <p class="permission-risk is-high" role="status">
          {line(obstacle, 300)}
        </p>
      )}
      <div class="permission-options" data-armed={armed}>
        {rejectsFirst && button(reject, "primary")}
        {button(allow, isCritical ? "danger" : "primary")}
        {!rejectsFirst && button(reject, "")}
        {others.length > 0 && (
          <Menu label="More options" items={others} className="button more" placement="above" inert={!armed} settles>
            More options
            <Icon name="chevron" className="menu-mark" />
          </Menu>
        )}
      </div>
    </div>
  );
}

/** Whether the card's title says this already, set as code or not. */
function isTitle(call: ToolCallPendingConfirmationState, text: string): boolean {
  return textOf(call.confirmationTitle).replaceAll("`", "") === text.replaceAll("`", "");
}

/** Whether the title says no more than the command, which the card shows below. */
function isCommand({ displayName, toolInput }: ToolCallPendingConfirmationState): boolean {
  return displayName === toolInput || displayName === `\`${toolInput}\``;
}

/** Where this view remembers the command as the reader has changed it. */
const editKey = (turnId: string, toolCallId: string) => `${turnId} ${toolCallId} edit`;

function Places({ call }: { call: ToolCallPendingConfirmationState }) {
  const places = call.details?.locations ?? [];
  if (places.length === 0) return null;
  return (
    <ul class="list permission-places">
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
        !(proposalId(chat, turnId, one.toolCallId) in obstaclesOf(store).value),
    );
  // Drawn again when the questions change, not at every word that the agent says meanwhile.
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
  return line(option.label, 120) || line(option.id, 120);
}

/** Only from inside this view, or from nowhere, and never out of a text or an open menu. */
function mayTakeFocus(root: ShadowRoot): boolean {
  const outer = document.activeElement;
  const inner = root.activeElement;
  if (inner) return !inner.matches("textarea, input, select, [contenteditable], [role=menuitem]");
  return outer === null || outer === document.body;
}
