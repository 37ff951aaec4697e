/**
 * Reduces questions to the user and their answers.
 *
 * A question that is put while a turn runs is a part of its answer, and stays there. One that is put while none runs, such
 * as for a login, waits in `inputRequests`: AHP has no place for it.
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

/** The questions that wait for the user; a long answer without any is not gone through. */
export const waitingRequests = (chat: ChatState | undefined): readonly ChatInputRequest[] =>
  chat?.activeTurn && waitingCalls(chat.activeTurn.responseParts) > 0
    ? openRequests(chat)
    : (chat?.inputRequests ?? []);

const waitingRequest = (state: ChatState, id: string) => waitingRequests(state).find((request) => request.id === id);

/** A request waits. Asked again without answers, it keeps those it had. */
export function requested(state: ChatState, action: ChatInputRequested): ChatState {
  const known = waitingRequest(state, action.request.id);
  const next = put(state, changed(action.request, { answers: action.request.answers ?? known?.answers }));
  return changed(next, { status: unread(derivedStatus(next)), modifiedAt: modifiedAt(state, action) });
}

/** One answer, set or withdrawn. */
export function answerChanged(state: ChatState, action: ChatInputAnswerChanged): ChatState {
  const old = waitingRequest(state, action.requestId);
  if (old === undefined) return state;
  const others = Object.entries(old.answers ?? {}).filter(([id]) => id !== action.questionId);
  const entries = action.answer === undefined ? others : [...others, [action.questionId, action.answer] as const];
  const request = changed(old, { answers: entries.length > 0 ? Object.fromEntries(entries) : undefined });
  return request === old ? state : changed(put(state, request), { modifiedAt: modifiedAt(state, action) });
}

/** A request is settled. */
export function completed(state: ChatState, action: ChatInputCompleted): ChatState {
  const old = waitingRequest(state, action.requestId);
  if (old === undefined) return state;
  const entries = [...Object.entries(old.answers ?? {}), ...Object.entries(action.answers ?? {})];
  const answers = entries.length > 0 ? Object.fromEntries(entries) : undefined;
  const next = put(state, changed(old, { answers }), action.response);
  return changed(next, { status: derivedStatus(next), modifiedAt: modifiedAt(state, action) });
}

/** The chat with a request where it waits, or where a new one is to wait. */
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
