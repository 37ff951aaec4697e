/** The options of a permission request, and the action that chooses one. */
import type { Action, ConfirmationOption, ToolCallPendingConfirmationState } from "../state/types.gen";
import { type AnyTurn, perStore } from "./store";

/** In milliseconds: a new question takes no answer for this long. */
export const INERT_FOR = 500;

/** In milliseconds: a lasting answer can be undone where it was given for this long. */
export const UNDO_FOR = 10_000;

/** The times of lasting answers given in this window, by `answerId`. */
export const lastingAnswers = perStore(() => new Map<string, number>());

export const answerId = (turnId: string, toolCallId: string): string => `${turnId} ${toolCallId}`;

const PLAIN_OPTIONS: readonly ConfirmationOption[] = [
  { id: "", label: "Allow", kind: "approve" },
  { id: "", label: "Reject", kind: "deny" },
];

/** Returns the turn's tool calls that wait for an answer. */
export function pendingCalls(turn: AnyTurn | null | undefined): ToolCallPendingConfirmationState[] {
  return (turn?.responseParts ?? []).flatMap((part) =>
    part.kind === "toolCall" && part.toolCall.status === "pending-confirmation" ? [part.toolCall] : [],
  );
}

/** Returns the options of a question; Allow and Reject if the agent names none. */
export function optionsOf(call: ToolCallPendingConfirmationState): readonly ConfirmationOption[] {
  return call.options?.length ? call.options : PLAIN_OPTIONS;
}

/** Returns the action that answers with `option`. */
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

/** Returns the narrowest option: for this once, else one that is not lasting, else the first. */
export function narrowest(
  options: readonly ConfirmationOption[],
  kind: ConfirmationOption["kind"],
): ConfirmationOption | undefined {
  const own = options.filter((option) => option.kind === kind && !option.group);
  return own.find((option) => /_once$/.test(option.optionKind ?? "")) ?? own.find((one) => !isLasting(one)) ?? own[0];
}

/** True for a lasting answer that the host stores and can undo. */
export function isKept({ id }: ConfirmationOption): boolean {
  return id === "agentnb:always";
}

export function isLasting(option: ConfirmationOption): boolean {
  return /_always$/.test(option.optionKind ?? "");
}
