/** The strip of tabs: one session each, with its agent, title and state. */

import type { TargetedKeyboardEvent, TargetedMouseEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AgentInfo, AgentProcess, SessionSummary } from "../state/types.gen";
import { useView } from "./context";
import { Icon, Spinner } from "./icons";
import { chatChannel, isReadOnly } from "./identity";
import { targetOf } from "./keyboard";
import { Menu } from "./menu";
import { line } from "./plain";
import { type TabState, tabState } from "./status";

interface Props {
  id: string;
  sessions: readonly SessionSummary[];
  agents: readonly AgentInfo[];
  active: string | undefined;
  onSelect: (resource: string) => void;
  onRename: (resource: string) => void;
  onClose: (resource: string) => void;
}

export function Tabs({ id, sessions, agents, active, onSelect, onRename, onClose }: Props) {
  const strip = useRef<HTMLDivElement>(null);
  const [overflows, setOverflows] = useState(false);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const at = sessions.findIndex((session) => session.resource === active);
    const to = targetOf(event.key, ["ArrowLeft", "ArrowRight"], at, sessions.length);
    const next = to === undefined ? undefined : sessions[to];
    if (next && to !== undefined) {
      onSelect(next.resource);
      (strip.current?.children[to] as HTMLElement | undefined)?.focus();
    } else if (event.key === "F2" && active) onRename(active);
    else if (event.key === "Delete" && active) onClose(active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  useLayoutEffect(() => {
    const box = strip.current as HTMLDivElement;
    const follow = () => {
      const tab = box.querySelector<HTMLElement>("[aria-selected=true]");
      if (tab) keepInside(box, tab);
      setOverflows(box.scrollWidth > box.clientWidth);
    };
    follow();
    if (typeof ResizeObserver !== "function") return;
    const observer = new ResizeObserver(follow);
    observer.observe(box);
    return () => observer.disconnect();
  }, [active, sessions]);
  return (
    <>
      <div class="tab-strip" role="tablist" aria-label="Conversations" ref={strip} onKeyDown={onKeyDown}>
        {sessions.map((session, at) => (
          <Tab
            key={session.resource}
            id={id}
            session={session}
            agent={agentName(agents, session.provider, session.title)}
            active={session.resource === active}
            isFirst={active === undefined && at === 0}
            onSelect={onSelect}
            onRename={onRename}
            onClose={onClose}
          />
        ))}
      </div>
      {overflows && <TabList sessions={sessions} agents={agents} active={active} onSelect={onSelect} />}
    </>
  );
}

/** Lists all conversations by name, if the strip has no room for their tabs. */
function TabList({ sessions, agents, active, onSelect }: Pick<Props, "sessions" | "agents" | "active" | "onSelect">) {
  const items = sessions.map(({ resource, provider, title, status }) => {
    const agent = agentName(agents, provider);
    const state = tabState(status, false, resource === active);
    return {
      key: resource,
      name: line(title, 60) || agent,
      detail: state === "idle" ? agent : `${agent} · ${state}`,
      isCurrent: resource === active,
      onSelect: () => onSelect(resource),
    };
  });
  return (
    <Menu label={`All ${sessions.length} conversations`} items={items}>
      <Icon name="list" />
    </Menu>
  );
}

/** Scrolls only the strip: `scrollIntoView` would move the notebook too. */
function keepInside(box: HTMLElement, tab: HTMLElement): void {
  const before = tab.offsetLeft - box.offsetLeft;
  if (before < box.scrollLeft) box.scrollLeft = before;
  else box.scrollLeft = Math.max(box.scrollLeft, before + tab.offsetWidth - box.clientWidth);
}

interface TabProps extends Pick<Props, "id" | "onSelect" | "onRename" | "onClose"> {
  session: SessionSummary;
  agent: string;
  active: boolean;
  /** True for the first tab if no tab is active: the Tab key reaches it. */
  isFirst: boolean;
}

function Tab({ id, session, agent, active, isFirst, onSelect, onRename, onClose }: TabProps) {
  const { drafts, store } = useView();
  const process = store.session(session.resource).value?.agentProcess;
  const chat = chatChannel(session.resource);
  const hasDraft = drafts.of(chat).value.trim() !== "" || drafts.pictures(chat).value.length > 0;
  const state = tabState(session.status, hasDraft && !active, active);
  const title = line(session.title, 60);
  const onClick = (event: TargetedMouseEvent<HTMLButtonElement>) => {
    // The cross is part of the tab, since a tab may contain no button; on the keyboard, use the Delete key.
    if ((event.target as Element).closest(".tab-close")) onClose(session.resource);
    else onSelect(session.resource);
  };
  return (
    <button
      type="button"
      role="tab"
      class={`row tab is-${state.replace(" ", "-")}`}
      id={tabId(id, session.resource)}
      aria-selected={active}
      aria-controls={`${id}-panel`}
      tabIndex={active || isFirst ? 0 : -1}
      title={`${agent}${title ? `: ${title}` : ""}${state === "idle" ? "" : ` (${state})`}${confinement(process)}`}
      onClick={onClick}
      onDblClick={() => onRename(session.resource)}
      onAuxClick={(event) => event.button === 1 && onClose(session.resource)}
    >
      <TabMark state={state} />
      <span class={title && title !== agent ? "sr-only" : "cut tab-agent"}>{agent}</span>
      {title && title !== agent && <span class="cut tab-title">{title}</span>}
      <span class="tab-close" aria-hidden="true" title="Close (Delete)">
        <Icon name="cross" />
      </span>
    </button>
  );
}

/** Returns how the agent is confined, once it runs. */
function confinement(process: AgentProcess | undefined): string {
  if (process?.state !== "running") return "";
  return process.confined ? `\nIt ${line(process.confined, 400)}` : "\nNot confined";
}

function TabMark({ state }: { state: TabState }) {
  if (state === "idle") return null;
  return (
    <>
      {state === "working" ? <Spinner /> : <span class="tab-mark" aria-hidden="true" />}
      <span class="sr-only">{state}: </span>
    </>
  );
}

/** Returns the id of a tab's element, without spaces, since they separate ids in lists. */
export function tabId(id: string, resource: string): string {
  return `${id}-${resource.replace(/\s/g, "_")}`;
}

/** Returns an agent's display name; for an unlisted read-only one, its conversation's title. */
export function agentName(agents: readonly AgentInfo[], provider: string, title = ""): string {
  const known = agents.find((agent) => agent.provider === provider);
  return line(known?.displayName || (isReadOnly(provider) && title) || provider || "Agent", 40);
}
