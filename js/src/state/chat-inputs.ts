/**
 * Reduces questions to the user and their answers.
 *
 * A question during a turn is a part of the turn's answer, and stays there. A question outside a turn, such as for a
 * login, waits in `inputRequests`: AHP has no place for it.
 */
import { changed, defined, filled, same, upsert, without } from "./change.ts";
import { derivedStatus, modifiedAt, unread, withParts } from "./chat-parts.ts";
import { openRequests } from "./open-requests.ts";
import { appended, findRequest, replaced, waitingCalls } from "./parts.ts";
import type {
  ChatInputAnswerChanged,
  ChatInputCompleted,
  ChatInputRequest,
  ChatInputRequested,
  ChatState,
  InputRequestResponsePart,
} from "./types.gen.ts";

/** Returns the questions that wait for the user; skips a long answer that has none. */
export const waitingRequests = (chat: ChatState | undefined): readonly ChatInputRequest[] =>
  chat?.activeTurn && waitingCalls(chat.activeTurn.responseParts) > 0
    ? openRequests(chat)
    : (chat?.inputRequests ?? []);

const waitingRequest = (state: ChatState, id: string) => waitingRequests(state).find((request) => request.id === id);

/** A request waits. If it is repeated without answers, it keeps its old ones. */
export function requested(state: ChatState, action: ChatInputRequested): ChatState {
  const known = waitingRequest(state, action.request.id);
  const next = put(state, changed(action.request, { answers: action.request.answers ?? known?.answers }));
  return changed(next, { status: unread(derivedStatus(next)), modifiedAt: modifiedAt(state, action) });
}

/** One answer is set or withdrawn. */
export function answerChanged(state: ChatState, action: ChatInputAnswerChanged): ChatState {
  const old = waitingRequest(state, action.requestId);
  if (old === undefined) return state;
  const others = Object.entries(old.answers ?? {}).filter(([id]) => id !== action.questionId);
  const entries = action.answer === undefined ? others : [...others, [action.questionId, action.answer] as const];
  const request = changed(old, { answers: entries.length > 0 ? Object.fromEntries(entries) : undefined });
  return request === old ? state : changed(put(state, request), { modifiedAt: modifiedAt(state, action) });
}

export function completed(state: ChatState, action: ChatInputCompleted): ChatState {
  const old = waitingRequest(state, action.requestId);
  if (old === undefined) return state;
  const entries = [...Object.entries(old.answers ?? {}), ...Object.entries(action.answers ?? {})];
  const answers = entries.length > 0 ? Object.fromEntries(entries) : undefined;
  const next = put(state, changed(old, { answers }), action.response);
  return changed(next, { status: derivedStatus(next), modifiedAt: modifiedAt(state, action) });
}

/** Returns the chat with a request in the place where it waits, or where a new one belongs. */
function put(state: ChatState, request: ChatInputRequest, response?: ChatInputCompleted["response"]): ChatState {
  const turn = state.activeTurn;
  const outside = state.inputRequests ?? [];
  if (turn === undefined || outside.some(({ id }) => id === request.id)) {
    const rest = response === undefined ? upsert(outside, request, "id") : without(outside, "id", request.id);
    return changed(state, { inputRequests: filled(rest) });
  }
  const part: InputRequestResponsePart = defined({ kind: "inputRequest", request, response });
  const at = findRequest(turn.responseParts, request.id);
  if (at < 0) return withParts(state, turn, appended(turn.responseParts, part));
  return same(turn.responseParts[at], part) ? state : withParts(state, turn, replaced(turn.responseParts, at, part));
}
