/** Reduces messages that wait: the one that steers, and those in the queue. */
import { changed, filled, upsert, without } from "./change.ts";
import type {
  ChatPendingMessageRemoved,
  ChatPendingMessageSet,
  ChatQueuedMessagesReordered,
  ChatState,
} from "./types.gen.ts";

/** A message waits, in the place of the one with the same id. */
export function messageSet(state: ChatState, { kind, id, message }: ChatPendingMessageSet): ChatState {
  const pending = { id, message };
  if (kind === "steering") return changed(state, { steeringMessage: pending });
  return changed(state, { queuedMessages: upsert(state.queuedMessages, pending, "id") });
}

/** A message is taken back. A queue with nothing left is absent. */
export function messageRemoved(state: ChatState, { kind, id }: ChatPendingMessageRemoved): ChatState {
  if (kind === "steering")
    return state.steeringMessage?.id === id ? changed(state, { steeringMessage: undefined }) : state;
  if (state.queuedMessages === undefined) return state;
  const rest = without(state.queuedMessages, "id", id);
  return rest === state.queuedMessages ? state : changed(state, { queuedMessages: filled(rest) });
}

/** The queue in another order; messages not named follow as they were. */
export function messagesReordered(state: ChatState, { order }: ChatQueuedMessagesReordered): ChatState {
  if (state.queuedMessages === undefined) return state;
  const waiting = new Map(state.queuedMessages.map((message) => [message.id, message]));
  const named = [...new Set(order)].flatMap((id) => waiting.get(id) ?? []);
  for (const { id } of named) waiting.delete(id);
  return changed(state, { queuedMessages: [...named, ...waiting.values()] });
}
