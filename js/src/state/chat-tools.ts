/** Reduces the tool calls of the running turn: AHP's state machine, with our details kept through it. */
import { changed, defined, same } from "./change.ts";
import { runningTurn, withDerivedStatus, withParts } from "./chat-parts.ts";
import { appended, findPart, replaced } from "./parts.ts";
import type {
  ChatState,
  ChatToolCallComplete,
  ChatToolCallConfirmed,
  ChatToolCallContentChanged,
  ChatToolCallDelta,
  ChatToolCallReady,
  ChatToolCallResultConfirmed,
  ChatToolCallStart,
  JsonObject,
  ToolCallCancelledState,
  ToolCallPendingConfirmationState,
  ToolCallResponsePart,
  ToolCallRunningState,
  ToolCallState,
  XToolCallDetailsChanged,
} from "./types.gen.ts";

interface Named {
  readonly turnId: string;
  readonly toolCallId: string;
  readonly _meta?: JsonObject;
}

type Update<A> = (call: ToolCallState, action: A) => ToolCallState;

/** Returns a reducer that applies `update` to the named tool call. */
function updates<A extends Named>(update: Update<A>): (state: ChatState, action: A) => ChatState {
  return (state, action) => {
    const turn = runningTurn(state, action.turnId);
    if (turn === undefined) return state;
    const parts = turn.responseParts;
    const at = findPart(parts, action.toolCallId);
    const part = parts[at];
    if (part?.kind !== "toolCall") return state;
    const call = update(part.toolCall, action);
    if (call === part.toolCall) return state;
    const next = withParts(
      state,
      turn,
      replaced(parts, at, { kind: "toolCall", toolCall: call } as ToolCallResponsePart),
    );
    return call.status === part.toolCall.status ? next : withDerivedStatus(next);
  };
}

/** Returns the fields that every state keeps from the one before. */
function base(call: ToolCallState, _meta?: JsonObject) {
  const { toolCallId, toolName, displayName, contributor, details } = call;
  return { toolCallId, toolName, displayName, contributor, _meta: _meta ?? call._meta, details };
}

type Cancelling = Pick<
  ToolCallCancelledState,
  "reason" | "reasonMessage" | "userSuggestion" | "selectedOption" | "answeredBy"
>;

export function cancelled(call: ToolCallState, why: Cancelling, _meta?: JsonObject): ToolCallCancelledState {
  return defined({
    status: "cancelled",
    ...base(call, _meta),
    invocationMessage: call.invocationMessage ?? "",
    toolInput: call.status === "streaming" ? undefined : call.toolInput,
    ...why,
  });
}

/** A tool call begins; one that has already begun stays unchanged. */
export function start(state: ChatState, action: ChatToolCallStart): ChatState {
  const turn = runningTurn(state, action.turnId);
  if (turn === undefined || findPart(turn.responseParts, action.toolCallId) >= 0) return state;
  const { toolCallId, toolName, displayName, contributor, _meta, details } = action;
  const toolCall: ToolCallState = defined({
    status: "streaming",
    toolCallId,
    toolName,
    displayName,
    contributor,
    _meta,
    details,
  });
  return withParts(state, turn, appended(turn.responseParts, { kind: "toolCall", toolCall }));
}

export const delta = updates<ChatToolCallDelta>((call, action) => {
  if (call.status !== "streaming") return call;
  return changed(call, {
    _meta: action._meta ?? call._meta,
    partialInput: (call.partialInput ?? "") + action.content,
    invocationMessage: action.invocationMessage || call.invocationMessage,
  });
});

/** The input is complete: the tool runs, or waits for approval. */
export const ready = updates<ChatToolCallReady>((call, action) => {
  if (call.status !== "streaming" && call.status !== "running") return call;
  const { invocationMessage, toolInput, confirmed, confirmationTitle, edits, editable, options, risk } = action;
  const known = { ...base(call, action._meta), invocationMessage, toolInput };
  if (!confirmed)
    return defined<ToolCallPendingConfirmationState>({
      status: "pending-confirmation",
      ...known,
      confirmationTitle,
      edits,
      editable,
      options,
      risk,
    });
  const running = defined<ToolCallRunningState>({ status: "running", ...known, confirmed });
  return same(call, running) ? call : running;
});

/** Someone has approved or denied the call. */
export const confirmed = updates<ChatToolCallConfirmed>((call, action) => {
  if (call.status !== "pending-confirmation") return call;
  const selectedOption = call.options?.find((option) => option.id === action.selectedOptionId);
  const { answeredBy } = action;
  if (!action.approved) {
    const { reasonMessage, userSuggestion } = action;
    const reason = action.reason || "denied";
    return cancelled(call, { reason, reasonMessage, userSuggestion, selectedOption, answeredBy }, action._meta);
  }
  return defined<ToolCallRunningState>({
    status: "running",
    ...base(call, action._meta),
    invocationMessage: call.invocationMessage,
    toolInput: action.editedToolInput ?? call.toolInput,
    confirmed: action.confirmed || "user-action",
    selectedOption,
    answeredBy,
  });
});

/** The tool has ended; its result counts at once, or waits for approval. */
export const complete = updates<ChatToolCallComplete>((call, action) => {
  if (call.status !== "running" && call.status !== "pending-confirmation") return call;
  const { success, pastTenseMessage, content, structuredContent, error } = action.result;
  return defined({
    status: action.requiresResultConfirmation ? "pending-result-confirmation" : "completed",
    ...base(call, action._meta),
    invocationMessage: call.invocationMessage,
    toolInput: call.toolInput,
    confirmed: call.status === "running" ? call.confirmed : "not-needed",
    selectedOption: call.status === "running" ? call.selectedOption : undefined,
    answeredBy: call.status === "running" ? call.answeredBy : undefined,
    success,
    pastTenseMessage,
    content,
    structuredContent,
    error,
  });
});

/** Someone has approved or denied the result. */
export const resultConfirmed = updates<ChatToolCallResultConfirmed>((call, action) => {
  if (call.status !== "pending-result-confirmation") return call;
  if (action.approved) return defined({ ...call, status: "completed", _meta: action._meta ?? call._meta });
  const { selectedOption, answeredBy } = call;
  return cancelled(call, { reason: "result-denied", selectedOption, answeredBy }, action._meta);
});

export const contentChanged = updates<ChatToolCallContentChanged>((call, action) => {
  if (call.status !== "running") return call;
  return changed(call, { _meta: action._meta ?? call._meta, content: action.content });
});

/** More details of a tool call, in any state. */
export const detailsChanged = updates<XToolCallDetailsChanged>((call, action) =>
  changed(call, {
    _meta: action._meta ?? call._meta,
    displayName: action.displayName ?? call.displayName,
    details: call.details ? changed(call.details, defined({ ...action.details })) : action.details,
  }),
);
