/** What answers a permission request: its options, and the action that chooses one. */
import type { Action, ConfirmationOption, ToolCallPendingConfirmationState } from "../state/types.gen";
import { type AnyTurn, perStore } from "./store";

/** For how many milliseconds a question that has just appeared takes no answer. */
export const INERT_FOR = 500;

/** For how many milliseconds an answer for good can be taken back where it was given. */
export const UNDO_FOR = 10_000;

/** When answers for good were given in this window, by `answerId`. */
export const lastingAnswers = perStore(() => new Map<string, number>());

export const answerId = (turnId: string, toolCallId: string): string => `${turnId} ${toolCallId}`;

const PLAIN_OPTIONS: readonly ConfirmationOption[] = [
  { id: "", label: "Allow", kind: "approve" },
  { id: "", label: "Reject", kind: "deny" },
];

/** The tool calls of a turn that wait for an answer. */
export function pendingCalls(turn: AnyTurn | null | undefined): ToolCallPendingConfirmationState[] {
  return (turn?.responseParts ?? []).flatMap((part) =>
    part.kind === "toolCall" && part.toolCall.status === "pending-confirmation" ? [part.toolCall] : [],
  );
}

/** The options of a question; plain ones where the agent names none. */
export function optionsOf(call: ToolCallPendingConfirmationState): readonly ConfirmationOption[] {
  return call.options?.length ? call.options : PLAIN_OPTIONS;
}

/** The action that answers with `option`. */
export function confirmation(
  turnId: string,
  toolCallId: string,
  option: ConfirmationOption,
  editedToolInput?: string,
): Action {
  const approved = option.kind === "approve";
  return {
    type: "chat/toolCallConfirmed",
    turnId,
    toolCallId,
    approved,
    ...(approved ? { confirmed: "user-action" } : { reason: "denied" }),
    ...(approved && editedToolInput?.trim() ? { editedToolInput } : {}),
    ...(option.id === "" ? {} : { selectedOptionId: option.id }),
  };
}

/** The option that allows or denies the least: for this once, else one that the agent says nothing more of. */
export function narrowest(
  options: readonly ConfirmationOption[],
  kind: ConfirmationOption["kind"],
): ConfirmationOption | undefined {
  const own = options.filter((option) => option.kind === kind && !option.group);
  return own.find((option) => /_once$/.test(option.optionKind ?? "")) ?? own.find((one) => !isLasting(one)) ?? own[0];
}

/** Whether it is an answer for good that the host keeps, and can take back. */
export function isKept({ id }: ConfirmationOption): boolean {
  return id === "agentnb:always";
}

export function isLasting(option: ConfirmationOption): boolean {
  return /_always$/.test(option.optionKind ?? "");
}
