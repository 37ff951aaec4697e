/** The messages that wait for the running turn to end. */
import type { PendingMessage } from "../state/types.gen";
import { usePlace, useView } from "./context";
import { Icon } from "./icons";
import { line } from "./plain";

export function Queue({ messages }: { messages: readonly PendingMessage[] }) {
  const { store } = useView();
  const { chat } = usePlace();
  if (messages.length === 0) return null;
  const remove = (id: string) => store.dispatch(chat, { type: "chat/pendingMessageRemoved", kind: "queued", id });
  return (
    <ul class="queue" aria-label="Waiting messages">
      {messages.map((pending) => (
        <li key={pending.id}>
          <Icon name="clock" />
          <span class="cut">{line(pending.message.text, 300)}</span>
          <button
            type="button"
            class="icon-button"
            aria-label={`Remove: ${line(pending.message.text, 60)}`}
            title="Remove from the queue"
            onClick={() => remove(pending.id)}
          >
            <Icon name="cross" />
          </button>
        </li>
      ))}
    </ul>
  );
}
