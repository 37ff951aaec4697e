/** The whole chat: tabs, one conversation, the queue and the box to write in. */

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { SessionSummary } from "../state/types.gen";
import { useMemory, useView } from "./context";
import { Conversation, type Doing } from "./conversation";
import { Spacer } from "./icons";
import { isTab, sessionChannel } from "./identity";
import { Banner, Start, Waiting } from "./notices";
import { line, reason } from "./plain";
import { Refusals } from "./refusals";
import { isArchived } from "./status";
import { isOver } from "./store";
import { TabMenu } from "./tab-menu";
import { agentName, NewTab, Tabs, tabId } from "./tabs";
import { ErrorCard } from "./turn";

/** How long a closed tab can be brought back from here; the kernel waits a little longer. */
const UNDO_FOR = 10_000;

export function Chat({ tab }: { tab?: string | undefined }) {
  const { store, cadence } = useView();
  const id = useId();
  const connection = store.connection.value;
  const refusal = store.refusal.value;
  const root = cadence.paced(store.root).value;
  const sessions = useMemo(() => (root?.sessions ?? []).filter((one) => !isArchived(one)), [root?.sessions]);
  const { active, select } = useActive(sessions, tab);
  const [trouble, setTrouble] = useState<Trouble>();
  const create = useCreate(sessions, select, setTrouble);
  const fork = useFork(sessions, select, setTrouble);
  const { closed, close, reopen } = useClosing(sessions, select);
  const [doing, setDoing] = useState<Doing>();
  const restart = (channel: string) => {
    setTrouble(undefined);
    store.request("restartAgent", { channel }).catch((error) => setTrouble({ what: "restarted", why: reason(error) }));
  };
  const agents = root?.agents ?? [];
  const dead = connection === "connecting" || isOver(connection);
  const summary = sessions.find((session) => session.resource === active);
  const rename = (resource: string) => {
    select(resource);
    setDoing("rename");
  };
  return (
    <section class="chat" aria-label="Agent chat" onKeyDown={(event) => isFind(event) && setDoing("find")}>
      {(sessions.length > 0 || !root) && (
        <div class="tabs">
          <Tabs
            id={id}
            sessions={sessions}
            agents={agents}
            active={active}
            onSelect={select}
            onRename={rename}
            onClose={close}
          />
          <NewTab agents={agents} onNew={create} disabled={dead} />
          {active && <TabMenu session={active} onDo={setDoing} onFork={fork} onRestart={restart} onClose={close} />}
        </div>
      )}
      <Banner session={active} />
      <Refusals here={(channel) => active === undefined || sessionChannel(channel) !== active} />
      {closed && (
        <div class="banner plain-banner">
          <span class="cut">
            Closed {agentName(agents, closed.provider)}
            {closed.title && `: ${line(closed.title, 60)}`}
          </span>
          <Spacer />
          <button type="button" class="button small" onClick={reopen}>
            Undo
          </button>
        </div>
      )}
      {trouble && <ErrorCard title={`The conversation could not be ${trouble.what}`} message={trouble.why} />}
      {!root && !refusal && !isOver(connection) && <Waiting text="Connecting to the kernel…" />}
      {root && sessions.length === 0 && <Start agents={agents} onNew={create} disabled={dead} />}
      {root && active && (
        <div class="panel" role="tabpanel" id={`${id}-panel`} aria-labelledby={tabId(id, active)}>
          <Conversation
            key={active}
            resource={active}
            summary={summary}
            agents={agents}
            dead={dead}
            doing={doing}
            setDoing={setDoing}
          />
        </div>
      )}
    </section>
  );
}

/** Ctrl+F finds in the conversation; in the find box it is the browser's again. */
function isFind(event: KeyboardEvent): boolean {
  if (event.key !== "f" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return false;
  if ((event.target as Element).closest(".find")) return false;
  event.preventDefault();
  event.stopPropagation();
  return true;
}

/** The active tab: what was chosen here, else what was asked for, else the newest. */
function useActive(sessions: readonly SessionSummary[], tab: string | undefined) {
  const { drafts } = useView();
  const [chosen, choose] = useMemory<string | undefined>("active tab", undefined);
  const known = sessions.find((session) => session.resource === chosen);
  const wanted = tab === undefined ? undefined : sessions.find((session) => isTab(session.resource, tab));
  const select = (resource: string) => {
    drafts.flush();
    choose(resource);
  };
  return { active: (known ?? wanted ?? sessions.at(-1))?.resource, select };
}

/** A tab that did not come about. */
interface Trouble {
  what: "started" | "copied" | "restarted";
  why: string;
}

type Say = (trouble: Trouble | undefined) => void;

/** Makes a session and goes to its tab when it is there. */
function useCreate(sessions: readonly SessionSummary[], select: (resource: string) => void, say: Say) {
  const { store, toBox } = useView();
  const before = useRef<Set<string> | undefined>(undefined);
  useEffect(() => {
    const fresh = sessions.find((session) => before.current && !before.current.has(session.resource));
    if (!fresh) return;
    before.current = undefined;
    select(fresh.resource);
    toBox();
  }, [sessions]);
  return (agent: string) => {
    say(undefined);
    before.current = new Set(sessions.map((session) => session.resource));
    store.request("createSession", { agent }).catch((error: unknown) => {
      before.current = undefined;
      say({ what: "started", why: reason(error) });
    });
  };
}

/** Copies a session and goes to the copy's tab when it is there. */
function useFork(sessions: readonly SessionSummary[], select: (resource: string) => void, say: Say) {
  const { store, announce } = useView();
  const [coming, expect] = useState<string>();
  useEffect(() => {
    if (!sessions.some((session) => session.resource === coming)) return;
    expect(undefined);
    select(coming as string);
    announce("Conversation copied.");
  }, [sessions, coming]);
  return (resource: string) => {
    say(undefined);
    store.request<{ channel: string }>("forkSession", { channel: resource }).then(
      ({ channel }) => expect(channel),
      (error: unknown) => say({ what: "copied", why: reason(error) }),
    );
  };
}

/** Closes a tab, and for a while offers to bring it back. The kernel keeps it as long. */
function useClosing(sessions: readonly SessionSummary[], select: (resource: string) => void) {
  const { store, announce } = useView();
  const [closed, setClosed] = useState<SessionSummary>();
  useEffect(() => {
    if (!closed) return;
    const timer = setTimeout(() => setClosed(undefined), UNDO_FOR);
    return () => clearTimeout(timer);
  }, [closed]);
  const close = (resource: string) => {
    const at = sessions.findIndex((session) => session.resource === resource);
    const next = sessions[at + 1] ?? sessions[at - 1];
    if (next) select(next.resource);
    setClosed(sessions[at]);
    announce("Conversation closed.");
    store.dispatch(resource, { type: "session/isArchivedChanged", isArchived: true });
  };
  const reopen = () => {
    if (!closed) return;
    store.dispatch(closed.resource, { type: "session/isArchivedChanged", isArchived: false });
    select(closed.resource);
    setClosed(undefined);
  };
  return { closed, close, reopen };
}
