/** Reduces waiting messages: the steering one, and those in the queue. */
import { changed, defined, filled, upsert, without } from "./change.ts";
import type {
  ChatPendingMessageRemoved,
  ChatPendingMessageSet,
  ChatQueuedMessagesReordered,
  ChatState,
  PendingMessage,
} from "./types.gen.ts";

/** A message waits; it replaces the one with the same id, and stays held if that one was. */
export function messageSet(state: ChatState, { kind, id, message }: ChatPendingMessageSet): ChatState {
  if (kind === "steering") return changed(state, { steeringMessage: { id, message } });
  const held = state.queuedMessages?.find((other) => other.id === id)?.held;
  const pending = defined<PendingMessage>({ id, message, held });
  return changed(state, { queuedMessages: upsert(state.queuedMessages, pending, "id") });
}

/** A message is removed. An empty queue is absent. */
export function messageRemoved(state: ChatState, { kind, id }: ChatPendingMessageRemoved): ChatState {
  if (kind === "steering")
    return state.steeringMessage?.id === id ? changed(state, { steeringMessage: undefined }) : state;
  if (state.queuedMessages === undefined) return state;
  const rest = without(state.queuedMessages, "id", id);
  return rest === state.queuedMessages ? state : changed(state, { queuedMessages: filled(rest) });
}

/** Reorders the queue; messages that are not named follow in their old order. */
export function messagesReordered(state: ChatState, { order, held }: ChatQueuedMessagesReordered): ChatState {
  if (state.queuedMessages === undefined) return state;
  const waiting = new Map(state.queuedMessages.map((message) => [message.id, message]));
  const named = [...new Set(order)].flatMap((id) => waiting.get(id) ?? []);
  for (const { id } of named) waiting.delete(id);
  const next = held === undefined ? named : named.map((message) => changed(message, { held: held || undefined }));
  return changed(state, { queuedMessages: [...next, ...waiting.values()] });
}

export function heldQueue(messages: ChatState["queuedMessages"]): ChatState["queuedMessages"] {
  return messages?.map((message) => changed(message, { held: true }));
}
