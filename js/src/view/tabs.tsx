/** The strip of tabs: one session each, with its agent, its title and how it stands. */
import type { TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AgentInfo, SessionSummary } from "../state/types.gen";
import { useView } from "./context";
import { Icon, Spinner } from "./icons";
import { chatChannel } from "./identity";
import { line } from "./plain";
import { type TabState, tabState } from "./status";

interface Props {
  id: string;
  sessions: readonly SessionSummary[];
  agents: readonly AgentInfo[];
  active: string | undefined;
  onSelect: (resource: string) => void;
  onNew: (agent: string) => void;
  disabled: boolean;
}

const STEP: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };

export function Tabs({ id, sessions, agents, active, onSelect, onNew, disabled }: Props) {
  const strip = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const at = sessions.findIndex((session) => session.resource === active);
    const step = STEP[event.key];
    const end = event.key === "Home" ? 0 : event.key === "End" ? sessions.length - 1 : undefined;
    const to = step === undefined ? end : (at + step + sessions.length) % sessions.length;
    const next = to === undefined ? undefined : sessions[to];
    if (!next || to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    onSelect(next.resource);
    (strip.current?.children[to] as HTMLElement | undefined)?.focus();
  };
  useLayoutEffect(() => {
    const tab = strip.current?.querySelector<HTMLElement>("[aria-selected=true]");
    if (tab && strip.current) keepInside(strip.current, tab);
  }, [active, sessions.length]);
  return (
    <div class="tabs">
      <div class="tab-strip" role="tablist" aria-label="Conversations" ref={strip} onKeyDown={onKeyDown}>
        {sessions.map((session) => (
          <Tab
            key={session.resource}
            id={id}
            session={session}
            agent={agentName(agents, session.provider)}
            active={session.resource === active}
            onSelect={onSelect}
          />
        ))}
      </div>
      <NewTab agents={agents} onNew={onNew} disabled={disabled} />
    </div>
  );
}

/** Scrolls the strip alone: `scrollIntoView` would move the notebook too. */
function keepInside(box: HTMLElement, tab: HTMLElement): void {
  const before = tab.offsetLeft - box.offsetLeft;
  if (before < box.scrollLeft) box.scrollLeft = before;
  else box.scrollLeft = Math.max(box.scrollLeft, before + tab.offsetWidth - box.clientWidth);
}

interface TabProps {
  id: string;
  session: SessionSummary;
  agent: string;
  active: boolean;
  onSelect: (resource: string) => void;
}

function Tab({ id, session, agent, active, onSelect }: TabProps) {
  const { memory } = useView();
  const draft = memory.get(`draft ${chatChannel(session.resource)}`);
  const state = tabState(session.status, typeof draft === "string" && draft.trim() !== "" && !active);
  const title = line(session.title, 60);
  return (
    <button
      type="button"
      role="tab"
      class={`tab is-${state.replace(" ", "-")}`}
      id={`${id} ${session.resource}`}
      aria-selected={active}
      aria-controls={`${id} panel`}
      tabIndex={active ? 0 : -1}
      title={`${agent}${title ? `: ${title}` : ""}${state === "idle" ? "" : ` (${state})`}`}
      onClick={() => onSelect(session.resource)}
    >
      <TabMark state={state} />
      <span class="tab-agent">{agent}</span>
      {title && title !== agent && <span class="tab-title">{title}</span>}
    </button>
  );
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

interface NewTabProps {
  agents: readonly AgentInfo[];
  onNew: (agent: string) => void;
  disabled: boolean;
}

function NewTab({ agents, onNew, disabled }: NewTabProps) {
  const [open, setOpen] = useState(false);
  const holder = useRef<HTMLDivElement>(null);
  const only = agents.length === 1 ? agents[0] : undefined;
  const choose = (agent: string) => {
    setOpen(false);
    onNew(agent);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !open) return;
    event.stopPropagation();
    setOpen(false);
    holder.current?.querySelector("button")?.focus();
  };
  const onFocusOut = (event: FocusEvent) => {
    if (!holder.current?.contains(event.relatedTarget as Node | null)) setOpen(false);
  };
  if (agents.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only hears that the keyboard leaves its buttons
    <div class="new-tab" ref={holder} onKeyDown={onKeyDown} onFocusOut={onFocusOut}>
      <button
        type="button"
        class="icon-button"
        aria-label="New conversation"
        title="New conversation"
        aria-expanded={only ? undefined : open}
        disabled={disabled}
        onClick={() => (only ? choose(only.provider) : setOpen(!open))}
      >
        <Icon name="plus" />
      </button>
      {open && (
        <div class="menu">
          {agents.map((agent) => (
            <button type="button" key={agent.provider} class="menu-item" onClick={() => choose(agent.provider)}>
              <span class="menu-name">{line(agent.displayName || agent.provider, 60)}</span>
              {agent.description && <span class="dim small">{line(agent.description, 120)}</span>}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

export function agentName(agents: readonly AgentInfo[], provider: string): string {
  const known = agents.find((agent) => agent.provider === provider);
  return line(known?.displayName || provider || "Agent", 40);
}
