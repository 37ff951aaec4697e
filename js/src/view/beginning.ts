/** Begins a conversation: the message box becomes its box, and waiting messages are sent to it. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Message } from "../state/types.gen";
import { useView } from "./context";
import { nextFreedom } from "./freedom";
import { uuid } from "./identity";
import { reason } from "./plain";

export interface Beginning {
  /** The agent that is starting; "" if none is. */
  readonly starts: string;
  readonly failed: { readonly agent: string; readonly why: string } | undefined;
  /** `from`: the chat whose draft and pictures move along. */
  begin(agent: string, options?: { message?: Message; folder?: string; from?: string }): Promise<void>;
  /** Sends this once a conversation has begun: the one that is beginning, or the one with the agent chosen next. */
  later(message: Message): void;
  /** The text of the waiting message; "" if none waits. */
  readonly waits: string;
  forget(): void;
}

/**
 * Calls `before` when a conversation is to begin, and `then` when it has begun; `then` calls `done` once the box is the
 * conversation's.
 */
export function useBeginning(before: () => void, then: (channel: string, done: () => void) => void): Beginning {
  const view = useView();
  const { store, drafts } = view;
  const [starts, setStarts] = useState("");
  const [failed, setFailed] = useState<Beginning["failed"]>();
  const waiting = useRef<Message | undefined>(undefined);
  const [waits, setWaits] = useState("");
  const wait = (message: Message | undefined) => {
    waiting.current = message;
    setWaits(message?.text ?? "");
  };
  const empty = (box: string) => {
    drafts.set(box, "");
    drafts.setPictures(box, []);
  };
  // Another kernel does not know the conversation that was beginning.
  useEffect(() => setStarts(""), [store.hostId.value]);
  const begin: Beginning["begin"] = async (agent, { message: first, folder = "", from } = {}) => {
    setStarts(agent);
    setFailed(undefined);
    before();
    try {
      const { channel, chat } = await store.request("createSession", {
        agent,
        tabId: uuid(),
        reuse: true,
        freedom: nextFreedom(view),
        ...(folder && { folder }),
      });
      const send = (message: Message | undefined) => {
        if (!message) return;
        wait(undefined);
        for (const box of [from ?? chat, chat]) if (drafts.of(box).peek() === message.text) empty(box);
        const id = uuid();
        if (store.chat(chat).peek()?.activeTurn)
          store.dispatch(chat, { type: "chat/pendingMessageSet", kind: "queued", id, message });
        else store.dispatch(chat, { type: "chat/turnStarted", turnId: id, message, time: Date.now() });
      };
      send(first ?? waiting.current);
      then(channel, () => {
        if (from && from !== chat && drafts.pictures(from).peek().length > 0) {
          drafts.setPictures(chat, drafts.pictures(from).peek());
          drafts.setPictures(from, []);
        }
        send(waiting.current);
        setStarts("");
      });
    } catch (error) {
      // Keeps the message: puts it in the box if the box is empty.
      if (first && from && drafts.of(from).peek().trim() === "") drafts.set(from, first.text);
      wait(undefined);
      store.notebook?.comments?.giveBack();
      setFailed({ agent, why: reason(error) });
      setStarts("");
    }
  };
  return {
    starts,
    failed,
    begin,
    waits,
    later: wait,
    forget: () => {
      if (waiting.current) store.notebook?.comments?.giveBack();
      wait(undefined);
    },
  };
}
