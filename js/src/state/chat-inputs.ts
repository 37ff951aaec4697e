/** Reduces questions to the user and their answers. */
import { changed, filled, put, without } from "./change.ts";
import { derivedStatus, modifiedAt, unread, withDerivedStatus } from "./chat-status.ts";
import type { ChatInputAnswerChanged, ChatInputCompleted, ChatInputRequested, ChatState } from "./types.gen.ts";

/** A request waits. Asked again without answers, it keeps those it had. */
export function requested(state: ChatState, action: ChatInputRequested): ChatState {
  const requests = state.inputRequests ?? [];
  const at = requests.findIndex((request) => request.id === action.request.id);
  const request = changed(action.request, { answers: action.request.answers ?? requests[at]?.answers });
  const next = changed(state, { inputRequests: put(requests, at < 0 ? requests.length : at, request) });
  return changed(next, { status: unread(derivedStatus(next)), modifiedAt: modifiedAt(state, action) });
}

/** One answer, set or withdrawn. */
export function answerChanged(state: ChatState, action: ChatInputAnswerChanged): ChatState {
  const requests = state.inputRequests ?? [];
  const at = requests.findIndex((request) => request.id === action.requestId);
  const old = requests[at];
  if (old === undefined) return state;
  const others = Object.entries(old.answers ?? {}).filter(([id]) => id !== action.questionId);
  const entries = action.answer === undefined ? others : [...others, [action.questionId, action.answer] as const];
  const request = changed(old, { answers: entries.length > 0 ? Object.fromEntries(entries) : undefined });
  if (request === old) return state;
  return changed(state, { inputRequests: put(requests, at, request), modifiedAt: modifiedAt(state, action) });
}

/** A request is settled and goes away. */
export function completed(state: ChatState, action: ChatInputCompleted): ChatState {
  const requests = state.inputRequests ?? [];
  const rest = without(requests, "id", action.requestId);
  if (rest === requests) return state;
  return withDerivedStatus(changed(state, { inputRequests: filled(rest), modifiedAt: modifiedAt(state, action) }));
}
