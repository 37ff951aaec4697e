/** Reduces the start, the end and the usage of a turn. */
import { changed, defined, filled, put, without } from "./change.ts";
import { derivedStatus, modifiedAt, unread, withActivity, withDerivedStatus } from "./chat-parts.ts";
import { heldQueue } from "./chat-pending.ts";
import { cancelled } from "./chat-tools.ts";
import { appended } from "./parts.ts";
import { SessionStatus } from "./tables.gen.ts";
import type {
  ActiveTurn,
  ChatError,
  ChatState,
  ChatTruncated,
  ChatTurnCancelled,
  ChatTurnComplete,
  ChatTurnStarted,
  ChatUsage,
  ErrorInfo,
  ResponsePart,
  Turn,
  XPromptSuggestionsChanged,
  XTurnChanges,
} from "./types.gen.ts";

/** A turn begins and ends the agent's suggestions; one that has already begun stays unchanged. */
export function turnStarted(state: ChatState, action: ChatTurnStarted): ChatState {
  const { turnId, message, queuedMessageId, startedAt } = action;
  if (state.activeTurn?.id === turnId || state.turns.some((turn) => turn.id === turnId)) return state;
  const turn: ActiveTurn = defined({ id: turnId, message, responseParts: [], startedAt });
  const started = { ...state, activeTurn: turn };
  const next = queuedMessageId === undefined ? started : withoutPending(started, queuedMessageId);
  const modified = modifiedAt(state, action);
  return changed(next, { status: unread(derivedStatus(next)), modifiedAt: modified, promptSuggestions: undefined });
}

function withoutPending(state: ChatState, id: string): ChatState {
  return changed(state, {
    steeringMessage: state.steeringMessage?.id === id ? undefined : state.steeringMessage,
    queuedMessages: filled(without(state.queuedMessages ?? [], "id", id)),
  });
}

/** Returns a reducer that ends the running turn in one way. */
export function ends(how: Turn["state"]) {
  return (state: ChatState, action: ChatTurnComplete | ChatTurnCancelled | ChatError): ChatState => {
    const active = state.activeTurn;
    if (active === undefined || active.id !== action.turnId) return state;
    const parts = settled(active.responseParts);
    const turn: Turn = defined({
      ...active,
      responseParts: action.type === "chat/error" ? appended(parts, action.part) : parts,
      state: how,
      stopReason: action.stopReason,
      duration: action.duration,
    });
    const next = defined<ChatState>({
      ...state,
      turns: [...state.turns, turn],
      activeTurn: undefined,
      inputRequests: undefined,
      modifiedAt: modifiedAt(state, action),
    });
    if (action.type === "chat/turnCancelled" && action.holdQueue)
      return withDerivedStatus(changed(next, { queuedMessages: heldQueue(next.queuedMessages) }));
    return how === "error"
      ? changed(next, { status: withActivity(state.status, SessionStatus.ERROR) })
      : withDerivedStatus(next);
  };
}

/** Returns the parts with every tool call ended: running ones are cancelled. */
function settled(parts: readonly ResponsePart[]): readonly ResponsePart[] {
  const next = parts.map(settledPart);
  return next.every((part, i) => part === parts[i]) ? parts : next;
}

function settledPart(part: ResponsePart): ResponsePart {
  if (part.kind !== "toolCall") return part;
  const { status } = part.toolCall;
  if (status === "completed" || status === "cancelled") return part;
  return { kind: "toolCall", toolCall: cancelled(part.toolCall, { reason: "skipped" }) };
}

export function usage(state: ChatState, action: ChatUsage): ChatState {
  const active = state.activeTurn;
  if (active === undefined || active.id !== action.turnId) return state;
  return changed(state, { activeTurn: changed(active, { usage: action.usage }) });
}

/** Cuts the history after the named turn; without one, empties it. */
export function truncated(state: ChatState, action: ChatTruncated): ChatState {
  const keep = action.turnId === undefined ? 0 : state.turns.findIndex((turn) => turn.id === action.turnId) + 1;
  if (keep === 0 && action.turnId !== undefined) return state;
  return withDerivedStatus(
    changed(state, {
      turns: state.turns.slice(0, keep),
      activeTurn: undefined,
      inputRequests: undefined,
      promptSuggestions: undefined,
      modifiedAt: modifiedAt(state, action),
    }),
  );
}

/** Returns the error of a turn that ended with one; parts that came late follow it. */
export function turnError(turn: Turn): ErrorInfo | undefined {
  const part = turn.state === "error" ? turn.responseParts.findLast(({ kind }) => kind === "error") : undefined;
  return part?.kind === "error" ? part.error : undefined;
}

/** Sets the changes of a finished turn; any other turn stays unchanged. */
export function turnChanges(state: ChatState, action: XTurnChanges): ChatState {
  const { turns } = state;
  const at = turns.findLastIndex(({ id }) => id === action.turnId);
  const old = turns[at];
  if (old === undefined) return state;
  const turn = changed(old, { changes: action.changes });
  return turn === old ? state : { ...state, turns: put(turns, at, turn) };
}

export function promptSuggestionsChanged(state: ChatState, { suggestions }: XPromptSuggestionsChanged): ChatState {
  return changed(state, { promptSuggestions: filled(suggestions) });
}
