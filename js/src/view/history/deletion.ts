/** Conversations that are being deleted: for a while that can be undone, then the kernel is asked to. */
import { useEffect, useRef, useState } from "preact/hooks";
import { reason } from "../plain";
import type { Conversation, Request } from "./list";

/** In milliseconds. */
export const UNDO_FOR = 10_000;

export interface Deletion {
  /** Those that can be brought back, the latest last. */
  readonly undoable: readonly Conversation[];
  /** Those that are not shown: to be deleted, or deleted. */
  readonly hidden: ReadonlySet<string>;
  /** Those that the kernel has deleted. */
  readonly deleted: ReadonlySet<string>;
  remove(conversation: Conversation): void;
  undo(uri: string): void;
}

interface Doings {
  /** It can no longer be undone. */
  sending(uri: string): void;
  /** The kernel has not deleted it. */
  failed(conversation: Conversation, why: string): void;
}

/**
 * Sends each deletion when its time is over, or when the panel is closed or the page is left.
 * One that the kernel does not delete is shown again.
 */
export function useDeletion(request: Request, { sending, failed }: Doings): Deletion {
  const waiting = useRef(new Map<string, { conversation: Conversation; timer: ReturnType<typeof setTimeout> }>());
  const sent = useRef(new Set<string>());
  const deleted = useRef(new Set<string>());
  const [, redraw] = useState(0);
  const draw = () => redraw((count) => count + 1);
  const send = (uri: string) => {
    const one = waiting.current.get(uri);
    if (!one) return;
    sending(uri);
    clearTimeout(one.timer);
    waiting.current.delete(uri);
    sent.current.add(uri);
    request("deleteSession", { channel: uri }).then(
      () => {
        deleted.current.add(uri);
        draw();
      },
      (error: unknown) => {
        sent.current.delete(uri);
        failed(one.conversation, reason(error));
        draw();
      },
    );
    draw();
  };
  useEffect(() => {
    const sendAll = () => [...waiting.current.keys()].forEach(send);
    window.addEventListener("pagehide", sendAll);
    return () => {
      window.removeEventListener("pagehide", sendAll);
      sendAll();
    };
  }, []);
  return {
    undoable: [...waiting.current.values()].map(({ conversation }) => conversation),
    hidden: new Set([...waiting.current.keys(), ...sent.current]),
    deleted: deleted.current,
    remove: (conversation) => {
      const { uri } = conversation;
      waiting.current.set(uri, { conversation, timer: setTimeout(() => send(uri), UNDO_FOR) });
      draw();
    },
    undo: (uri) => {
      clearTimeout(waiting.current.get(uri)?.timer);
      waiting.current.delete(uri);
      draw();
    },
  };
}
