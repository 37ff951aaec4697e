/** The whole chat: tabs, one conversation, the queue and the box to write in. */
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { AgentInfo, RootState, SessionState, SessionSummary } from "../state/types.gen";
import { useAnnouncements } from "./announcements";
import { PlaceContext, useMemory, useView } from "./context";
import { chatChannel, isTab } from "./identity";
import { Meter } from "./meter";
import { Banner, EmptyChat, SessionTrouble, Start, Waiting } from "./notices";
import { Prompt } from "./prompt";
import { Queue } from "./queue";
import { isArchived, isIdle, isRead } from "./status";
import { isOver } from "./store";
import { agentName, Tabs } from "./tabs";
import { Transcript } from "./transcript";
import { ErrorCard } from "./turn";

export function Chat({ tab }: { tab?: string | undefined }) {
  const { store, cadence } = useView();
  const id = useId();
  const connection = store.connection.value;
  const root = cadence.paced(store.root).value;
  const sessions = useMemo(() => (root?.sessions ?? []).filter((one) => !isArchived(one)), [root?.sessions]);
  const { active, select } = useActive(sessions, tab);
  const { create, trouble } = useCreate(sessions, select);
  const agents = root?.agents ?? [];
  const dead = connection === "connecting" || isOver(connection);
  return (
    <section class="chat" aria-label="Agent chat">
      {(sessions.length > 0 || !root) && (
        <Tabs
          id={id}
          sessions={sessions}
          agents={agents}
          active={active}
          onSelect={select}
          onNew={create}
          disabled={dead}
        />
      )}
      <Banner />
      {trouble && <ErrorCard title="The conversation could not be started" message={trouble} />}
      {!root && !isOver(connection) && <Waiting text="Connecting to the kernel…" />}
      {root && sessions.length === 0 && <Start agents={agents} onNew={create} disabled={dead} />}
      {root && active && (
        <div class="panel" role="tabpanel" id={`${id} panel`} aria-labelledby={`${id} ${active}`}>
          <Conversation key={active} resource={active} agents={agents} dead={dead} />
        </div>
      )}
    </section>
  );
}

interface ConversationProps {
  resource: string;
  agents: NonNullable<RootState["agents"]>;
  dead: boolean;
}

function Conversation({ resource, agents, dead }: ConversationProps) {
  const { store, cadence } = useView();
  const session = cadence.paced(store.session(resource)).value;
  const channel = session?.defaultChat ?? chatChannel(resource);
  const chat = cadence.paced(store.chat(channel)).value;
  const place = useMemo(() => ({ session: resource, chat: channel }), [resource, channel]);
  const agent = nameOf(agents, session, resource);
  useAnnouncements(chat, agent);
  useMarkRead(resource, session);
  if (!session || !chat) return <Waiting text={`Opening ${agent}…`} />;
  const isEmpty = chat.turns.length === 0 && !chat.activeTurn;
  const starting = session.lifecycle === "creating";
  return (
    <PlaceContext.Provider value={place}>
      {isEmpty && starting && <Waiting text={`Starting ${agent}…`} />}
      {isEmpty && session.lifecycle === "ready" && <EmptyChat agent={agent} session={session} />}
      {!isEmpty && <Transcript chat={chat} />}
      <SessionTrouble agent={agent} session={session} />
      <div class="foot">
        <Queue messages={chat.queuedMessages ?? []} />
        <Prompt chat={chat} agent={agent} disabled={dead || session.lifecycle === "creationFailed"} />
        <Meter session={session} />
      </div>
    </PlaceContext.Provider>
  );
}

function nameOf(agents: readonly AgentInfo[], session: SessionState | undefined, resource: string): string {
  return agentName(agents, session?.summary.provider ?? resource.slice(0, resource.indexOf(":")));
}

/** The active tab: what was chosen here, else what was asked for, else the newest. */
function useActive(sessions: readonly SessionSummary[], tab: string | undefined) {
  const [chosen, select] = useMemory<string | undefined>("active tab", undefined);
  const known = sessions.find((session) => session.resource === chosen);
  const wanted = tab === undefined ? undefined : sessions.find((session) => isTab(session.resource, tab));
  return { active: (known ?? wanted ?? sessions.at(-1))?.resource, select };
}

/** Makes a session and goes to its tab when it is there. */
function useCreate(sessions: readonly SessionSummary[], select: (resource: string) => void) {
  const { store } = useView();
  const [trouble, setTrouble] = useState("");
  const before = useRef<Set<string> | undefined>(undefined);
  useEffect(() => {
    const fresh = sessions.find((session) => before.current && !before.current.has(session.resource));
    if (!fresh) return;
    before.current = undefined;
    select(fresh.resource);
  }, [sessions]);
  const create = (agent: string) => {
    setTrouble("");
    before.current = new Set(sessions.map((session) => session.resource));
    store.request("createSession", { agent }).catch((error: unknown) => {
      before.current = undefined;
      setTrouble(error instanceof Error ? error.message : String(error));
    });
  };
  return { create, trouble };
}

/** Who has a conversation on screen has read it. */
function useMarkRead(resource: string, session: SessionState | undefined): void {
  const { store } = useView();
  const told = useRef<number | undefined>(undefined);
  const summary = session?.summary;
  useEffect(() => {
    if (!summary || isRead(summary.status) || !isIdle(summary.status)) return;
    if (told.current === summary.modifiedAt || document.visibilityState === "hidden") return;
    told.current = summary.modifiedAt;
    store.dispatch(resource, { type: "session/isReadChanged", isRead: true });
  }, [summary, resource, store]);
}
