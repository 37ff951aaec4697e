/**
 * Messages above the box. Queued messages wait for the running turn, or are held after a stop; the user can edit, move,
 * send or remove each.
 */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PendingMessage } from "../state/types.gen";
import { usePlace, useView } from "./context";
import { Button, TextButton } from "./controls";
import { Icon, IconButton, Spacer } from "./icons";
import { line } from "./plain";

interface Props {
  messages: readonly PendingMessage[];
  running: string | undefined;
}

export function Queue({ messages, running }: Props) {
  const { store, drafts, announce } = useView();
  const { chat, session } = usePlace();
  const [edited, edit] = useState<string>();
  if (messages.length === 0) return null;
  const order = messages.map((message) => message.id);
  const reorder = (ids: string[]) => store.dispatch(chat, { type: "chat/queuedMessagesReordered", order: ids });
  const remove = (id: string) => store.dispatch(chat, { type: "chat/pendingMessageRemoved", kind: "queued", id });
  const toFront = (id: string) => [id, ...order.filter((other) => other !== id)];
  const held = messages.filter((pending) => pending.held).map((pending) => pending.id);
  const release = (ids: string[]) =>
    store.dispatch(chat, { type: "chat/queuedMessagesReordered", order: ids, held: false });
  const steers = store.session(session).value?.agentProcess?.steering === true;
  const now = running === undefined ? "" : steers ? " into the running turn" : " and stop the running turn";
  const sendNow = ({ id, message, held: isHeld }: PendingMessage) => {
    if (running !== undefined && steers) {
      store.dispatch(chat, { type: "chat/pendingMessageSet", kind: "steering", id, message });
      return;
    }
    if (isHeld) release([id]);
    else if (order[0] !== id) reorder(toFront(id));
    if (running !== undefined) store.dispatch(chat, { type: "chat/turnCancelled", turnId: running });
  };
  const change = (pending: PendingMessage, text: string) => {
    edit((id) => (id === pending.id ? undefined : id));
    if (text.trim() === "" || text === pending.message.text) return;
    if (
      !store
        .chat(chat)
        .peek()
        ?.queuedMessages?.some(({ id }) => id === pending.id)
    ) {
      const since = drafts.of(chat).peek();
      drafts.set(chat, since === "" ? text : `${text}\n\n${since}`);
      announce("The original was sent; your edit is in the message box.");
      return;
    }
    const message = { ...pending.message, text };
    store.dispatch(chat, { type: "chat/pendingMessageSet", kind: "queued", id: pending.id, message });
  };
  const continueQueue = () => {
    release(held);
    announce("The queue continues.");
  };
  return (
    <ul class="queue" aria-label="Queued messages">
      {held.length > 0 && (
        <li class="row queue-held">
          <Icon name="pause" />
          <span role="status">{held.length === 1 ? "1 message is" : `${held.length} messages are`} on hold.</span>
          <Spacer />
          <Button onClick={continueQueue}>Continue</Button>
        </li>
      )}
      {messages.map((pending, index) => {
        const name = line(pending.message.text, 60);
        return (
          <li key={pending.id} class="row">
            <Icon name="clock" />
            {edited === pending.id ? (
              <Editor text={pending.message.text} onDone={(text) => change(pending, text)} />
            ) : (
              <>
                <span class="cut">{line(pending.message.text, 300)}</span>
                {index > 0 && (
                  <IconButton name={`Move up: ${name}`} icon="up" onClick={() => reorder(swapped(order, index))} />
                )}
                <IconButton name={`Send now${now}: ${name}`} icon="now" onClick={() => sendNow(pending)} />
                <IconButton name={`Edit: ${name}`} icon="edit" onClick={() => edit(pending.id)} />
                <IconButton name={`Remove: ${name}`} icon="cross" onClick={() => remove(pending.id)} />
              </>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** Returns the order with the message at `index` one place earlier. */
function swapped(order: string[], index: number): string[] {
  const next = order.filter((_, at) => at !== index);
  next.splice(index - 1, 0, order[index] as string);
  return next;
}

function Editor({ text, onDone }: { text: string; onDone: (text: string) => void }) {
  const box = useRef<HTMLTextAreaElement>(null);
  const over = useRef(false);
  const done = (words: string) => {
    if (over.current) return;
    over.current = true;
    onDone(words);
  };
  useLayoutEffect(() => {
    const area = box.current as HTMLTextAreaElement;
    area.focus();
    return () => done(area.value); // the message was sent, or another tab is shown
  }, []);
  return (
    <textarea
      ref={box}
      class="field"
      rows={Math.min(6, text.split("\n").length)}
      aria-label="Edit the queued message"
      defaultValue={text}
      onBlur={(event) => done(event.currentTarget.value)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Escape") done(text);
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        done(event.currentTarget.value);
      }}
    />
  );
}

const MOST_DRAFTS = 3;

/** Shows drafts whose kernel restarted above the box, until the user restores or discards them. */
export function LostDrafts({ onRestore }: { onRestore: (text: string) => void }) {
  const { store, drafts } = useView();
  const [gone, setGone] = useState(0);
  const host = store.hostId.value;
  const lostDrafts = useMemo(() => drafts.lost().slice(0, MOST_DRAFTS), [drafts, host, gone]);
  if (lostDrafts.length === 0) return null;
  return (
    <ul class="queue" aria-label="Drafts from before the kernel restarted">
      {lostDrafts.map((draft) => (
        <li key={draft.key} class="row">
          <Icon name="edit" />
          <span class="cut">{line(draft.text, 300)}</span>
          <TextButton
            onClick={() => {
              drafts.forget(draft);
              onRestore(draft.text);
            }}
          >
            Restore
          </TextButton>
          <IconButton
            name="Discard this draft"
            icon="cross"
            onClick={() => {
              drafts.forget(draft);
              setGone(gone + 1);
            }}
          />
        </li>
      ))}
    </ul>
  );
}
