/** The message box: Enter sends, Shift+Enter adds a line. A message sent while a turn runs waits in the queue. */
import { useComputed } from "@preact/signals";
import type { ComponentChildren, TargetedClipboardEvent, TargetedDragEvent, TargetedKeyboardEvent } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AgentCommand, Message, PendingMessage } from "../state/types.gen";
import { LARGEST, type Picture, takePictures } from "./attach";
import { useCompletion } from "./completion";
import { usePlace, useView } from "./context";
import { Form, Trouble } from "./controls";
import { useHostEvent } from "./host-events";
import { Icon, IconButton, Spacer } from "./icons";
import { lookOf, uuid } from "./identity";
import { imageSource } from "./links";
import { memo } from "./memo";
import { MentionChips } from "./mention-chips";
import { bytes, line } from "./plain";
import { LostDrafts } from "./queue";
import { messageOf } from "./store";

const TALLEST = 240;
const NO_COMMANDS: readonly AgentCommand[] = [];
const NO_PICTURES: readonly Picture[] = [];

interface Props {
  /** The id of the running turn. */
  running: string | undefined;
  queued?: readonly PendingMessage[] | undefined;
  agent: string;
  commands?: readonly AgentCommand[] | undefined;
  /** Begins the conversation with a message, if there is none yet; the box is emptied once it has begun. */
  onBegin?: ((message: Message) => void) | undefined;
  /** Controls below the text. */
  children?: ComponentChildren;
  /** True if nothing reaches the kernel. */
  disabled: boolean;
  /** While true, messages wait. */
  held?: boolean;
  /** The user focuses the box or types. */
  onIntent?: (() => void) | undefined;
  /** A turn was started from this box. */
  onStart?: () => void;
}

// Memoized, so that streamed text does not redraw it.
export const Prompt = memo((props: Props) => {
  const { running, queued, agent, commands = NO_COMMANDS, disabled, held = false, onIntent, onStart, onBegin } = props;
  const { store, drafts, announce } = useView();
  const place = usePlace();
  const draft = drafts.of(place.chat).value;
  const pictures = drafts.pictures(place.chat).value;
  const setPictures = (next: readonly Picture[]) => drafts.setPictures(place.chat, next);
  const [trouble, setTrouble] = useState("");
  const [over, setOver] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const isDue = useRef(false);
  const empty = draft.trim() === "" && pictures.length === 0;
  const write = (text: string) => drafts.set(place.chat, text);
  const { list, marks, look, onKey } = useCompletion(useId(), box, write, commands);
  const sent = useSent(place.chat, (back) => setPictures([...back, ...pictures]));
  useLayoutEffect(() => grow(box.current as HTMLTextAreaElement), [draft]);
  useLayoutEffect(() => growWithWidth(box.current as HTMLTextAreaElement), []);
  useLayoutEffect(() => () => drafts.leave(place.chat), [drafts, place.chat]);

  /** `words`: the length of the user's part of the text; the rest is for the agent only. */
  const sendOff = (text: string, pictures: readonly Picture[], words = text.length) => {
    const comments = words < text.length ? [] : (store.notebook?.comments?.take() ?? []);
    const attachments = [...pictures.map(({ size: _, ...picture }) => picture), ...comments];
    const message: Message = {
      text,
      origin: { kind: "user" },
      ...(attachments.length > 0 && { attachments }),
      ...(words < text.length && { _meta: { agentnb: { words } } }),
    };
    if (onBegin) return onBegin(message);
    const id = uuid();
    sent(id, pictures);
    if (running || queued?.some((waiting) => !waiting.held)) {
      store.dispatch(place.chat, { type: "chat/pendingMessageSet", kind: "queued", id, message });
    } else {
      store.dispatch(place.chat, { type: "chat/turnStarted", turnId: id, message, time: Date.now() });
      onStart?.();
    }
  };

  const send = () => {
    if (disabled || empty) return;
    isDue.current = held;
    if (held) return;
    sendOff(draft, pictures);
    if (onBegin) return;
    write("");
    look(false);
    setPictures(NO_PICTURES);
    setTrouble("");
    box.current?.focus();
  };

  useEffect(() => {
    if (isDue.current) send();
  }, [held]);

  // The box may have the focus before the conversation exists.
  useEffect(() => {
    const area = box.current as HTMLTextAreaElement;
    if ((area.getRootNode() as ShadowRoot).activeElement === area) onIntent?.();
  }, [onIntent]);

  // The JupyterLab extension sends its own prompt and leaves the draft, or adds mentions to the draft
  // (js/src/lab/pending-prompt.ts).
  useHostEvent<string>("agentnb-send", (event) => {
    if (disabled || held) return;
    event.preventDefault();
    const end = event.detail.indexOf("\n\n");
    sendOff(event.detail, NO_PICTURES, end < 0 ? undefined : end);
  });
  useHostEvent("agentnb-picture", () => chooser.current?.click());
  useHostEvent<string>("agentnb-add", (event) => {
    const area = box.current;
    if (disabled || !area) return;
    event.preventDefault();
    const before = drafts.of(place.chat).peek();
    area.value = `${before}${before && !/\s$/.test(before) ? " " : ""}${event.detail} `;
    write(area.value);
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
    announce(`Added to the message: ${line(event.detail, 120)}`);
  });

  const take = (chosen: FileList | undefined | null) => {
    const files = [...(chosen ?? [])];
    if (files.length === 0) return false;
    takePictures(files, pictures).then(
      (taken) => {
        setTrouble(taken.trouble);
        if (taken.pictures.length > 0) setPictures([...drafts.pictures(place.chat).peek(), ...taken.pictures]);
      },
      (error: unknown) => setTrouble(String(error)),
    );
    return true;
  };

  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    // Enter that ends an input method's composition chooses a word; it does not send.
    if (event.isComposing || event.keyCode === 229 || onKey(event)) return;
    if (event.key !== "Enter" || event.shiftKey) return;
    if (lookOf(store.root.peek()).send_key === "ctrl-enter" && !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    send();
  };

  return (
    <>
      {empty && <LostDrafts onRestore={write} />}
      <Trouble text={trouble} />
      <Form
        class={`prompt${over ? " is-over" : ""}`}
        data-held={held}
        onSubmit={send}
        onDragOver={(event) => {
          if (!event.dataTransfer?.types.includes("Files")) return;
          event.preventDefault();
          event.stopPropagation();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event: TargetedDragEvent<HTMLFormElement>) => {
          setOver(false);
          if (disabled || !take(event.dataTransfer?.files)) return;
          event.preventDefault();
          event.stopPropagation();
        }}
      >
        {list}
        {pictures.length > 0 && (
          <ul class="list pictures" aria-label="Attached pictures">
            {pictures.map((picture, index) => (
              <li key={index}>
                <img class="thumbnail" src={imageSource(picture.contentType, picture.data)} alt={line(picture.label)} />
                <IconButton
                  name={`Remove ${line(picture.label, 60)}`}
                  icon="cross"
                  onClick={() => setPictures(pictures.filter((one) => one !== picture))}
                />
              </li>
            ))}
          </ul>
        )}
        {pictures.length > 0 && !drafts.keepsPictures(place.chat) && (
          <p class="note">These pictures are too large to save: reloading the page removes them.</p>
        )}
        <MentionChips draft={draft} box={box} />
        <Comments />
        <textarea
          ref={box}
          rows={1}
          value={draft}
          readOnly={disabled}
          aria-label={agent ? `Message to ${agent}` : "Message"}
          aria-autocomplete="list"
          {...marks}
          placeholder={running ? "Queue a message…" : agent ? `Message ${line(agent, 40)}…` : "What do you want to do?"}
          onInput={(event) => {
            write(event.currentTarget.value);
            onIntent?.();
            look();
          }}
          onKeyDown={onKeyDown}
          onPaste={(event: TargetedClipboardEvent<HTMLTextAreaElement>) => {
            event.stopPropagation();
            if (take(event.clipboardData?.files)) event.preventDefault();
          }}
          onFocus={() => {
            drafts.enter(place.chat);
            onIntent?.();
          }}
          onBlur={() => {
            drafts.leave(place.chat);
            look(false);
          }}
        />
        <input
          ref={chooser}
          type="file"
          accept="image/*"
          multiple
          hidden
          title={`Pictures up to ${bytes(LARGEST)}`}
          onChange={(event) => {
            take(event.currentTarget.files);
            event.currentTarget.value = "";
          }}
        />
        <div class="row prompt-row">
          {props.children}
          <Spacer />
          {running && <StopButton turnId={running} />}
          {!empty && (
            <IconButton
              type="submit"
              className="round primary"
              icon="send"
              disabled={disabled}
              name={running ? "Queue message" : "Send message"}
              title={running ? "Send when this turn ends (Enter)" : "Send (Enter)"}
            />
          )}
        </div>
      </Form>
    </>
  );
});

function Comments() {
  const comments = useView().store.notebook?.comments;
  const into = useRef<HTMLDivElement>(null);
  useEffect(() => comments?.show(into.current as HTMLDivElement), [comments]);
  return <div class="mentioned" ref={into} hidden />;
}

/**
 * Dismisses rejections at the next message, and restores the pictures of a rejected message; the drafts restore its
 * text.
 */
function useSent(chat: string, giveBack: (pictures: readonly Picture[]) => void) {
  const { store } = useView();
  const pictures = useRef(new Map<string, readonly Picture[]>());
  const refusals = store.refusals.value.filter(({ channel, action }) => channel === chat && messageOf(action));
  useEffect(() => {
    if (refusals.length > 0) store.notebook?.comments?.giveBack();
    for (const { action } of refusals) {
      const id = messageOf(action)?.id ?? "";
      const back = pictures.current.get(id) ?? NO_PICTURES;
      pictures.current.delete(id);
      if (back.length > 0) giveBack(back);
    }
  }, [refusals.length]);
  return (id: string, sent: readonly Picture[]) => {
    for (const refusal of refusals) store.dismiss(refusal.id);
    if (sent.length > 0) pictures.current.set(id, sent);
  };
}

export function StopButton({ turnId, labelled = false }: { turnId: string; labelled?: boolean }) {
  const { store } = useView();
  const { chat } = usePlace();
  const queued = useComputed(() => store.chat(chat).value?.queuedMessages?.length ?? 0).value;
  return (
    <button
      type="button"
      class={labelled ? "button small stop" : "round stop"}
      aria-label="Stop"
      title={queued > 0 ? "Stop this turn; queued messages are held" : "Stop this turn"}
      onClick={() => store.dispatch(chat, { type: "chat/turnCancelled", turnId, ...(queued && { holdQueue: true }) })}
    >
      <Icon name="stop" />
      {labelled && "Stop"}
    </button>
  );
}

/** Fits the box's height to its text whenever its width changes; returns a function that ends that. */
function growWithWidth(box: HTMLTextAreaElement): (() => void) | undefined {
  if (typeof ResizeObserver !== "function") return undefined;
  let width = box.clientWidth;
  const observer = new ResizeObserver(() => {
    if (box.clientWidth === width) return;
    width = box.clientWidth;
    grow(box);
  });
  observer.observe(box);
  return () => observer.disconnect();
}

function grow(box: HTMLTextAreaElement): void {
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight, TALLEST)}px`;
}
