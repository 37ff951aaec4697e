/** A restart of the kernel ends its conversations: the one that was shown opens again, the others are offered. */

import { useState } from "preact/hooks";
import type { KernelAccess, Params } from "../state/answers";
import type { RootState, SessionSummary } from "../state/types.gen";
import { useView } from "./context";
import { Button } from "./controls";
import { keptHere } from "./earlier-conversations";
import { isFreedom } from "./freedom";
import { useHostEvent } from "./host-events";
import { IconButton, Spacer } from "./icons";
import { chatChannel, isInTerminal, isRemote } from "./identity";
import { count, reason } from "./plain";

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
  open?: string;
}

/** `agentnb-leaving` asks what is open; `agentnb-reopen` opens it in the chat of another kernel. */
export function useAfterRestart(
  root: RootState | undefined,
  sessions: readonly SessionSummary[],
  active: string | undefined,
  say: (why: string) => void,
) {
  const { store } = useView();
  const [others, offer] = useState<readonly string[]>([]);
  const summary = sessions.find((one) => one.resource === active);
  useHostEvent<Leaving>("agentnb-leaving", ({ detail }) => {
    if (!summary || isRemote(root) || isInTerminal(summary.provider)) return;
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
    try {
      if (shown.hasBegun) await store.request("resumeSession", { channel: shown.resource });
      else await create(shown);
    } catch (error) {
      say(reason(error));
      if (shown.hasBegun) await create(shown).catch((error: unknown) => say(reason(error)));
    }
    if (others.length === 0) return;
    const listed = keptHere(await store.request("listSessions", { here: true, limit: LOOKED_AT }));
    offer(others.filter((one) => listed.some(({ uri }) => uri === one)));
  };
  useHostEvent<string>("agentnb-reopen", (event) => {
    if (!root) return;
    event.preventDefault();
    void reopen(JSON.parse(event.detail)).catch(() => undefined); // of an older kernel
  });
  const openOthers = async () => {
    offer([]);
    for (const channel of left)
      await store.request("resumeSession", { channel }).catch((error: unknown) => say(reason(error)));
  };
  const left = others.filter((one) => !sessions.some(({ resource }) => resource === one));
  return left.length === 0 ? null : (
    <div class="banner plain-banner" role="status">
      <span>
        {count(left.length)} other conversation{left.length === 1 ? " was" : "s were"} open before the kernel restarted.
      </span>
      <Spacer />
      <Button onClick={() => void openOthers()}>Reopen</Button>
      <IconButton name="Don't reopen" icon="cross" onClick={() => offer([])} />
    </div>
  );
}
