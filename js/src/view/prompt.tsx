/** The box to write in: Enter sends, Shift+Enter breaks the line; what is sent while a turn runs waits its turn. */
import type { TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ChatState } from "../state/types.gen";
import { useMemory, usePlace, useView } from "./context";
import { Icon } from "./icons";
import { uuid } from "./identity";
import { line } from "./plain";

const TALLEST = 240;

interface Props {
  chat: ChatState | undefined;
  agent: string;
  disabled: boolean;
}

export function Prompt({ chat, agent, disabled }: Props) {
  const { store } = useView();
  const place = usePlace();
  const [draft, setDraft] = useMemory(`draft ${place.chat}`, "");
  const box = useRef<HTMLTextAreaElement>(null);
  const running = chat?.activeTurn;
  useLayoutEffect(() => grow(box.current as HTMLTextAreaElement), [draft]);

  const send = () => {
    if (disabled || draft.trim() === "") return;
    const message = { text: draft, origin: { kind: "user" } } as const;
    if (running || chat?.queuedMessages?.length) {
      store.dispatch(place.chat, { type: "chat/pendingMessageSet", kind: "queued", id: uuid(), message });
    } else store.dispatch(place.chat, { type: "chat/turnStarted", turnId: uuid(), message });
    setDraft("");
    box.current?.focus();
  };

  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    event.stopPropagation();
    if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    send();
  };

  return (
    <form
      class="prompt"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        ref={box}
        rows={1}
        value={draft}
        readOnly={disabled}
        aria-label={`Message to ${agent}`}
        placeholder={running ? "Write the next message…" : `Message ${line(agent, 40)}…`}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onKeyUp={stop}
        onKeyPress={stop}
      />
      <div class="prompt-buttons">
        {running && <StopButton turnId={running.id} />}
        <button
          type="submit"
          class="round primary"
          disabled={disabled || draft.trim() === ""}
          aria-label={running ? "Queue message" : "Send message"}
          title={running ? "Send when this turn has ended (Enter)" : "Send (Enter)"}
        >
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}

export function StopButton({ turnId, labelled = false }: { turnId: string; labelled?: boolean }) {
  const { store } = useView();
  const { chat } = usePlace();
  const stopTurn = () => store.dispatch(chat, { type: "chat/turnCancelled", turnId });
  return (
    <button
      type="button"
      class={labelled ? "button small stop" : "round stop"}
      aria-label="Stop"
      title="Stop this turn"
      onClick={stopTurn}
    >
      <Icon name="stop" />
      {labelled && "Stop"}
    </button>
  );
}

/** Keys typed here must not become the notebook's commands. */
function stop(event: Event): void {
  event.stopPropagation();
}

/** Enter that ends an input method's composition chooses a word, it does not send. */
function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}

function grow(box: HTMLTextAreaElement): void {
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight, TALLEST)}px`;
}
