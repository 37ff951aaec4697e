/** A chat's status, derived from what it is doing. */
import { changed } from "./change.ts";
import { waitingCalls } from "./parts.ts";
import { SessionStatus } from "./tables.gen.ts";
import type { Action, ChatState } from "./types.gen.ts";

/** The bits of a status that say the activity. */
const ACTIVITY = 0b11111;

export function withActivity(status: number, activity: number): number {
  return (status & ~ACTIVITY) | activity;
}

export function unread(status: number): number {
  return status & ~SessionStatus.IS_READ;
}

/** The status that follows from the chat's turn, its questions and its tool calls; flags are kept. */
export function derivedStatus(state: ChatState): number {
  return withActivity(state.status, activity(state));
}

function activity(state: ChatState): number {
  const waits = state.activeTurn !== undefined && waitingCalls(state.activeTurn.responseParts) > 0;
  if (state.inputRequests?.length || waits) return SessionStatus.INPUT_NEEDED;
  return state.activeTurn === undefined ? SessionStatus.IDLE : SessionStatus.IN_PROGRESS;
}

/** The chat with the status that follows from it. */
export function withDerivedStatus(state: ChatState): ChatState {
  return changed(state, { status: derivedStatus(state) });
}

/** When the chat was last modified, once this action is applied. */
export function modifiedAt(state: ChatState, action: Action): string {
  return action.time === undefined ? state.modifiedAt : new Date(action.time).toISOString();
}
