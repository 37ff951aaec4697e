/** The whole chat: tabs, one conversation, the queue and the box to write in. */
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { SessionSummary } from "../state/types.gen";
import { useMemory, useView } from "./context";
import { Conversation, type Doing } from "./conversation";
import { Icon } from "./icons";
import { isTab, sessionChannel } from "./identity";
import { Menu } from "./menu";
import { Banner, Start, Waiting } from "./notices";
import { line } from "./plain";
import { Refusals } from "./refusals";
import { isArchived } from "./status";
import { isOver } from "./store";
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
  const { create, trouble } = useCreate(sessions, select);
  const { closed, close, reopen } = useClosing(sessions, select);
  const [doing, setDoing] = useState<Doing>();
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
          {active && (
            <Menu
              label="Conversation"
              items={[
                { name: "Find", detail: "Ctrl+F", onSelect: () => setDoing("find") },
                { name: "Rename", detail: "F2 on the tab", onSelect: () => setDoing("rename") },
                { name: "Copy as Markdown", onSelect: () => setDoing("copy") },
                { name: "Save as Markdown", onSelect: () => setDoing("save") },
                { name: "Close", detail: "Delete on the tab", onSelect: () => close(active) },
              ]}
            >
              <Icon name="more" />
            </Menu>
          )}
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
          <span class="spacer" />
          <button type="button" class="button small" onClick={reopen}>
            Undo
          </button>
        </div>
      )}
      {trouble && <ErrorCard title="The conversation could not be started" message={trouble} />}
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
