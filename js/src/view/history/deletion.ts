/** Deletes conversations: for a while the user can undo that, then the kernel deletes them. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import { reason } from "../plain";
import type { Conversation } from "./list";

/** In milliseconds. */
export const UNDO_FOR = 10_000;

/** Conversations that are deleted, and restored, together. */
export interface Group {
  /** The first conversation's channel. */
  readonly id: string;
  readonly conversations: readonly Conversation[];
}

export interface Deletion {
  /** The deletions that can be undone, the latest last. */
  readonly undoable: readonly Group[];
  /** The conversations that are not shown: deleted, or about to be. */
  readonly hidden: ReadonlySet<string>;
  /** The conversations that the kernel has deleted. */
  readonly deleted: ReadonlySet<string>;
  /** The progress of deleting several. */
  readonly progress: { readonly done: number; readonly total: number } | undefined;
  remove(conversations: readonly Conversation[]): void;
  undo(id: string): void;
}

interface DeletionHandlers {
  /** Called when a deletion can no longer be undone. */
  sending(id: string): void;
  /** Called when the kernel has not deleted a conversation. */
  failed(conversation: Conversation, why: string): void;
}

/**
 * Sends each deletion when its time is over, one conversation after the other; sends all at once when the panel closes
 * or the user leaves the page. A conversation that the kernel does not delete is shown again.
 */
export function useDeletion(request: Request, { sending, failed }: DeletionHandlers): Deletion {
  const waiting = useRef(new Map<string, { group: Group; timer: ReturnType<typeof setTimeout> }>());
  const sent = useRef(new Set<string>());
  const deleted = useRef(new Set<string>());
  /** The conversations still to be sent, by deletion. */
  const inTurn = useRef(new Set<Conversation[]>());
  const progress = useRef<Deletion["progress"]>(undefined);
  const [, redraw] = useState(0);
  const draw = () => redraw((count) => count + 1);
  const ask = (conversation: Conversation): Promise<void> =>
    request("deleteSession", { channel: conversation.uri }).then(
      () => {
        deleted.current.add(conversation.uri);
        draw();
      },
      (error: unknown) => {
        sent.current.delete(conversation.uri);
        failed(conversation, reason(error));
        draw();
      },
    );
  const askInTurn = async (conversations: readonly Conversation[]) => {
    const left = [...conversations];
    inTurn.current.add(left);
    if (left.length > 1) progress.current = { done: 0, total: left.length };
    for (let one = left.shift(); one; one = left.shift()) {
      await ask(one);
      if (progress.current) progress.current = { ...progress.current, done: progress.current.done + 1 };
      draw();
    }
    inTurn.current.delete(left);
    progress.current = undefined;
    draw();
  };
  const send = (id: string, isAtOnce = false) => {
    const one = waiting.current.get(id);
    if (!one) return;
    sending(id);
    clearTimeout(one.timer);
    waiting.current.delete(id);
    for (const { uri } of one.group.conversations) sent.current.add(uri);
    if (isAtOnce) one.group.conversations.forEach(ask);
    else void askInTurn(one.group.conversations);
    draw();
  };
  useEffect(() => {
    const sendAll = () => {
      for (const left of inTurn.current) left.splice(0).forEach(ask);
      for (const id of [...waiting.current.keys()]) send(id, true);
    };
    window.addEventListener("pagehide", sendAll);
    return () => {
      window.removeEventListener("pagehide", sendAll);
      sendAll();
    };
  }, []);
  const hidden = [...waiting.current.values()].flatMap(({ group }) => group.conversations.map(({ uri }) => uri));
  return {
    undoable: [...waiting.current.values()].map(({ group }) => group),
    hidden: new Set([...hidden, ...sent.current]),
    deleted: deleted.current,
    progress: progress.current,
    remove: (conversations) => {
      const id = conversations[0]?.uri;
      if (id === undefined) return;
      waiting.current.set(id, { group: { id, conversations }, timer: setTimeout(() => send(id), UNDO_FOR) });
      draw();
    },
    undo: (id) => {
      clearTimeout(waiting.current.get(id)?.timer);
      waiting.current.delete(id);
      draw();
    },
  };
}
