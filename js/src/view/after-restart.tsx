/** A restart of the kernel ends its conversations: those that were open open again, the one that was shown first. */

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
  /** Whether something was said in it: the log can have it. */
  hasBegun: boolean;
}

interface Open {
  shown: Shown;
  others: string[];
}

/** What the sidebar asks before it takes a chat away, to hand it to the chat of the new kernel. */
export interface Leaving {
  open?: string | undefined;
}

/**
 * The conversation that is about to open again, as long as nobody goes elsewhere: the box is its own already, and what is
 * sent there waits for it.
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

/** `agentnb-leaving` asks what is open; `agentnb-reopen` opens it in the chat of another kernel. */
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
  /** Set until every conversation is open again; if the kernel ends before that, the next chat gets it. */
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
    const shown = { resource, agent: provider, settings, hasBegun };
    const open: Open = { shown, others: sessions.map((one) => one.resource).filter((one) => one !== resource) };
    detail.open = JSON.stringify(open);
  });
  const create = ({ resource, agent, settings }: Shown) =>
    store.request("createSession", {
      agent,
      ...settings,
      tabId: resource.slice(resource.indexOf(":/") + 2),
    });
  const reopen = async ({ shown, others }: Open) => {
    memory.set("active tab", shown.resource);
    setOpening(shown.resource);
    try {
      if (shown.hasBegun) await store.request("resumeSession", { channel: shown.resource });
      else await create(shown);
    } catch (error) {
      say(reason(error));
      const isNew = shown.hasBegun && (await create(shown).then(Boolean, (error: unknown) => say(reason(error))));
      if (!isNew) giveUp(shown.resource);
    }
    if (others.length === 0) return;
    const listed = keptHere(await store.request("listSessions", { here: true, limit: LOOKED_AT }));
    for (const channel of others.filter((one) => listed.some(({ uri }) => uri === one)))
      await store.request("resumeSession", { channel }).catch(() => undefined); // History has it
  };
  useHostEvent<string>("agentnb-reopen", (event) => {
    if (!root) return;
    event.preventDefault();
    reopening.current = event.detail;
    void reopen(JSON.parse(event.detail))
      .catch(() => undefined) // of an older kernel
      .then(() => {
        reopening.current = undefined;
      });
  });
}
