/** Reopens, after a restart of the kernel, the conversations that were open; the shown one first. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { KernelAccess, Params } from "../state/answers";
import type { RootState, SessionSummary } from "../state/types.gen";
import { useView } from "./context";
import { keptHere } from "./earlier-conversations";
import { isFreedom } from "./freedom";
import { useHostEvent } from "./host-events";
import { chatChannel, isReadOnly, isRemote } from "./identity";
import { reason } from "./plain";

const LOOKED_AT = 100;

interface Shown {
  resource: string;
  agent: string;
  settings: Pick<Params<"createSession">, "kernel" | "freedom">;
  /** True if it has turns, so that the log may have it. */
  hasBegun: boolean;
}

interface Open {
  shown: Shown;
  others: string[];
}

/** The sidebar's query before it removes a chat; the answer goes to the chat of the new kernel. */
export interface Leaving {
  open?: string | undefined;
}

/**
 * Returns the conversation that is about to reopen, until the user goes to another one: the message box is already its
 * box, and messages sent there wait for it.
 */
export function useOpening(sessions: readonly SessionSummary[]) {
  const { memory } = useView();
  const [opening, setOpening] = useState<string>();
  const isOpen = sessions.some(({ resource }) => resource === opening);
  useEffect(() => {
    if (isOpen) setOpening(undefined);
  }, [isOpen]);
  return { opening: isOpen || memory.get("active tab") !== opening ? undefined : opening, setOpening };
}

/** Answers `agentnb-leaving` with the open conversations; `agentnb-reopen` opens them in the chat of another kernel. */
export function useAfterRestart(
  root: RootState | undefined,
  sessions: readonly SessionSummary[],
  active: string | undefined,
  setOpening: (resource: string) => void,
  giveUp: (resource: string) => void,
  say: (why: string) => void,
) {
  const { store, memory } = useView();
  const summary = sessions.find((one) => one.resource === active);
  /** Set until all conversations are open again; if the kernel ends first, the next chat reopens them. */
  const reopening = useRef<string | undefined>(undefined);
  useHostEvent<Leaving>("agentnb-leaving", ({ detail }) => {
    detail.open = reopening.current;
    if (reopening.current || !summary || isRemote(root) || isReadOnly(summary.provider)) return;
    const { resource, provider } = summary;
    const { kernel, freedom } = store.session(resource).peek()?.config?.values ?? {};
    const chat = store.chat(chatChannel(resource)).peek();
    const hasBegun = Boolean(chat?.turns.length || chat?.activeTurn);
    const settings = {
      ...(typeof kernel === "string" && { kernel: kernel as KernelAccess }),
      ...(isFreedom(freedom) && { freedom }),
    };
    const conversation = { resource, agent: provider, settings, hasBegun };
    const open: Open = {
      shown: conversation,
      others: sessions.map((one) => one.resource).filter((one) => one !== resource),
    };
    detail.open = JSON.stringify(open);
  });
  const create = ({ resource, agent, settings }: Shown) =>
    store.request("createSession", {
      agent,
      ...settings,
      tabId: resource.slice(resource.indexOf(":/") + 2),
    });
  const reopen = async ({ shown: conversation, others }: Open) => {
    memory.set("active tab", conversation.resource);
    setOpening(conversation.resource);
    try {
      if (conversation.hasBegun) await store.request("resumeSession", { channel: conversation.resource });
      else await create(conversation);
    } catch (error) {
      say(reason(error));
      const isNew =
        conversation.hasBegun && (await create(conversation).then(Boolean, (error: unknown) => say(reason(error))));
      if (!isNew) giveUp(conversation.resource);
    }
    if (others.length === 0) return;
    const listed = keptHere(await store.request("listSessions", { here: true, limit: LOOKED_AT }));
    for (const channel of others.filter((one) => listed.some(({ uri }) => uri === one)))
      await store.request("resumeSession", { channel }).catch(() => undefined); // the user still finds it in History
  };
  useHostEvent<string>("agentnb-reopen", (event) => {
    if (!root) return;
    event.preventDefault();
    reopening.current = event.detail;
    void reopen(JSON.parse(event.detail))
      .catch(() => undefined) // an older kernel lists none
      .then(() => {
        reopening.current = undefined;
      });
  });
}
