/** Reduces a chat channel. */
import { defined, put } from "./change.ts";
import * as inputs from "./chat-inputs.ts";
import * as parts from "./chat-parts.ts";
import * as pending from "./chat-pending.ts";
import * as terminals from "./chat-terminals.ts";
import * as tools from "./chat-tools.ts";
import * as turns from "./chat-turns.ts";
import { byType, type Reducers } from "./reducers.ts";
import type { Action, ActiveTurn, ChatAction, ChatState, Turn, TurnContentAction, XLate } from "./types.gen.ts";

/** The actions that change the content of one turn. They may also come late, see `XLate`. */
const TURN: Reducers<ChatState, TurnContentAction> = {
  "chat/delta": parts.grows("markdown"),
  "chat/reasoning": parts.grows("reasoning"),
  "chat/responsePart": parts.responsePart,
  "chat/usage": turns.usage,
  "chat/toolCallStart": tools.start,
  "chat/toolCallDelta": tools.delta,
  "chat/toolCallReady": tools.ready,
  "chat/toolCallConfirmed": tools.confirmed,
  "chat/toolCallComplete": tools.complete,
  "chat/toolCallResultConfirmed": tools.resultConfirmed,
  "chat/toolCallContentChanged": tools.contentChanged,
  "x-agentnb/toolCallDetailsChanged": tools.detailsChanged,
  "x-agentnb/planSet": parts.planSet,
  "x-agentnb/partRemoved": parts.partRemoved,
  "x-agentnb/userMessageDelta": parts.grows("x-agentnb/userMessage"),
};

const reduceTurn = byType<ChatState, TurnContentAction, "chat">("chat", TURN);

/** Applies the inner action to a finished turn as if it still ran; changes nothing else. */
function late(state: ChatState, { turnId, action }: XLate): ChatState {
  const at = state.turns.findLastIndex((turn) => turn.id === turnId);
  const old = state.turns[at];
  if (old === undefined) return state;
  const turn = withContent(state, old, action);
  return turn === old ? state : { ...state, turns: put(state.turns, at, turn) };
}

function withContent(state: ChatState, turn: Turn, action: Action): Turn {
  const { id, message, responseParts, usage } = turn;
  const active: ActiveTurn = defined({ id, message, responseParts, usage });
  const after = reduceTurn({ ...state, activeTurn: active }, action).activeTurn;
  if (after === undefined || after === active) return turn;
  return defined({ ...turn, responseParts: after.responseParts, usage: after.usage });
}

/** A chat after an action; the same object if nothing has changed. */
export const reduceChat = byType<ChatState, ChatAction, "chat">("chat", {
  ...TURN,
  "chat/turnStarted": turns.turnStarted,
  "chat/turnComplete": turns.ends("complete"),
  "chat/turnCancelled": turns.ends("cancelled"),
  "chat/error": turns.ends("error"),
  "chat/truncated": turns.truncated,
  "x-agentnb/turnChanges": turns.turnChanges,
  "x-agentnb/promptSuggestionsChanged": turns.promptSuggestionsChanged,
  "chat/pendingMessageSet": pending.messageSet,
  "chat/pendingMessageRemoved": pending.messageRemoved,
  "chat/queuedMessagesReordered": pending.messagesReordered,
  "chat/inputRequested": inputs.requested,
  "chat/inputAnswerChanged": inputs.answerChanged,
  "chat/inputCompleted": inputs.completed,
  "x-agentnb/late": late,
  "x-agentnb/terminalOpened": terminals.opened,
  "x-agentnb/terminalData": terminals.data,
  "x-agentnb/terminalExited": terminals.exited,
});
