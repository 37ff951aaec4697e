/** The history: all conversations of the log, searched, previewed, opened again and deleted. */

import type { ReadonlySignal } from "@preact/signals";
import { h, render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { own } from "../../state/object";
import type { RootState } from "../../state/types.gen";
import { Spinner } from "../icons";
import { count, line, reason } from "../plain";
import { isArchived } from "../status";
import { useDeletion } from "./deletion";
import CSS from "./history.css";
import { isHistoryKey } from "./key";
import { byDay, type Conversation, fetchList, type Query, type Request, type Scope } from "./list";
import { Row } from "./row";

/** What the panel needs of the chat. */
export interface HistoryContext {
  readonly root: ReadonlySignal<RootState | undefined>;
  readonly request: Request;
  /** Goes to a conversation that the kernel has opened, or is about to show, and closes the panel. */
  open(uri: string): void;
  close(): void;
  /** Says a sentence to screen readers, politely; also after the panel was closed. */
  announce(sentence: string): void;
}

/** Shows the panel in `into`; the result takes it away again, and sends what is still to be deleted. */
export function mountHistory(into: HTMLElement, context: HistoryContext): () => void {
  const style = into.ownerDocument.createElement("style");
  style.textContent = CSS;
  const body = into.ownerDocument.createElement("div");
  body.className = "history";
  into.append(style, body);
  render(h(History, { context }), body);
  return () => {
    render(null, body);
    style.remove();
    body.remove();
  };
}

/** In milliseconds: a search is sent when typing has paused so long. */
const PAUSE = 200;
/** How far above its end, in pixels, the list fetches more. */
const NEAR_END = 400;

const SCOPES: readonly [Scope, string][] = [
  ["here", "This notebook"],
  ["folder", "This folder"],
  ["everywhere", "Everywhere"],
];
const NOWHERE: Record<Scope, string> = {
  here: "in this notebook",
  folder: "in this folder",
  everywhere: "in the log",
};

function History({ context }: { context: HistoryContext }) {
  const { request, announce } = context;
  const box = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [typed, setTyped] = useState("");
  const [query, setQuery] = useState<Query>({ search: "", scope: "here", agent: "" });
  const root = useRoot(context);
  const { found, more, again } = useList(request, query);
  const [troubles, setTroubles] = useState<Readonly<Record<string, string>>>({});
  const [opening, setOpening] = useState<string>();
  const [current, setCurrent] = useState<string>();
  const failed = ({ uri, title }: Conversation, why: string) => {
    announce(`${line(title, 60)} couldn't be deleted: ${why}`);
    setTroubles((all) => ({ ...all, [uri]: `Couldn't be deleted: ${why}` }));
  };
  const sending = (uri: string) => {
    const focused = (list.current?.getRootNode() as ShadowRoot | undefined)?.activeElement as HTMLElement | null;
    if (focused?.dataset.undo === uri) box.current?.focus(); // its button goes
  };
  const deletion = useDeletion(request, { sending, failed });
  useEffect(() => box.current?.focus(), []);
  useEffect(() => {
    if (typed === query.search) return;
    const timer = setTimeout(() => setQuery({ ...query, search: typed }), PAUSE);
    return () => clearTimeout(timer);
  }, [typed, query]);
  const shown = found.conversations.filter(({ uri }) => !deletion.hidden.has(uri));
  const days = byDay(shown, new Date());
  const agents = useAgents(root, found.conversations);
  const openHere = new Set((root?.sessions ?? []).filter((one) => !isArchived(one)).map(({ resource }) => resource));
  const active = shown.some(({ uri }) => uri === current) ? current : shown[0]?.uri;
  const mains = () => [...(list.current?.querySelectorAll<HTMLElement>(".history-main") ?? [])];

  const open = async (one: Conversation) => {
    setOpening(one.uri);
    setTroubles(({ [one.uri]: _, ...others }) => others);
    try {
      if (!openHere.has(one.uri)) await request("resumeSession", { channel: one.uri });
      context.open(one.uri);
    } catch (error) {
      setTroubles((all) => ({ ...all, [one.uri]: `Couldn't be opened: ${reason(error)}` }));
      setOpening(undefined);
    }
  };
  const remove = (one: Conversation) => {
    const at = shown.indexOf(one);
    const next = shown[at + 1] ?? shown[at - 1];
    const there = mains();
    (next ? there[shown.indexOf(next)] : box.current)?.focus();
    deletion.remove(one);
    announce(`Deleted ${line(one.title, 60)}. Undo is possible for ten seconds.`);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation(); // the chat's own keys are for its conversation
    if (event.key === "Escape" || isHistoryKey(event)) context.close();
    else if (event.key === "f" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
      box.current?.focus();
      box.current?.select();
    } else {
      const to = target(event, mains(), box.current);
      if (!to) return;
      to.focus();
    }
    event.preventDefault();
  };
  const onScroll = () => {
    const element = list.current;
    if (element && element.scrollTop + element.clientHeight > element.scrollHeight - NEAR_END) more(deletion.deleted);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only hears what its parts are told
    <div class="history-inside" onKeyDown={onKeyDown}>
      <div class="history-head" role="search" aria-label="Conversations">
        <input
          ref={box}
          class="field"
          type="search"
          aria-label="Search titles, prompts and answers"
          placeholder="Search conversations"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <select
          class="field"
          aria-label="Where to search"
          value={query.scope}
          onChange={(event) => setQuery({ ...query, search: typed, scope: event.currentTarget.value as Scope })}
        >
          {SCOPES.map(([scope, name]) => (
            <option key={scope} value={scope}>
              {name}
            </option>
          ))}
        </select>
        {agents.length > 1 && (
          <select
            class="field"
            aria-label="Agent"
            value={query.agent}
            onChange={(event) => setQuery({ ...query, search: typed, agent: event.currentTarget.value })}
          >
            <option value="">All agents</option>
            {agents.map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        )}
      </div>
      <p class="history-count dim small" role="status">
        {said(found, shown.length, query.search)}
      </p>
      {deletion.undoable.map((one) => (
        <div key={one.uri} class="banner plain-banner">
          <span class="cut">Deleted “{line(one.title, 60)}”</span>
          <span class="spacer" />
          <button
            type="button"
            class="button small"
            data-undo={one.uri}
            aria-label={`Undo: keep ${line(one.title, 60)}`}
            onClick={() => {
              deletion.undo(one.uri);
              announce(`${line(one.title, 60)} is kept.`);
              box.current?.focus();
            }}
          >
            Undo
          </button>
        </div>
      ))}
      <div class="history-list" ref={list} onScroll={onScroll} aria-busy={found.isBusy}>
        {found.note && <p class="note">{line(found.note, 2000)}</p>}
        {found.left > 0 && (
          <p class="note">
            {count(found.left)} older {found.left === 1 ? "conversation is" : "conversations are"} not in the search
            index yet.{" "}
            <button type="button" class="text-button" onClick={again}>
              Search again
            </button>
          </p>
        )}
        {days.map((day) => (
          <section key={day.name} aria-label={day.name}>
            <h4>{day.name}</h4>
            <ul class="history-day">
              {day.conversations.map((one) => (
                <Row
                  key={one.uri}
                  conversation={one}
                  agent={agents.find(([name]) => name === one.agent)?.[1] ?? one.agent}
                  scope={query.scope}
                  isOpen={openHere.has(one.uri)}
                  isCurrent={one.uri === active}
                  trouble={own(troubles, one.uri)}
                  busy={opening !== undefined}
                  request={request}
                  onFocus={() => setCurrent(one.uri)}
                  onOpen={() => void open(one)}
                  onDelete={() => remove(one)}
                />
              ))}
            </ul>
          </section>
        ))}
        {found.trouble && (
          <div class="history-empty" role="alert">
            <p>The conversations couldn't be listed: {line(found.trouble, 600)}</p>
            <button type="button" class="button small" onClick={again}>
              Try again
            </button>
          </div>
        )}
        {found.isBusy && <Spinner />}
        {!found.isBusy && !found.trouble && shown.length === 0 && <Empty query={query} onChange={setQuery} />}
        {!found.isBusy && found.hasMore && (
          <button type="button" class="text-button history-more" onClick={() => more(deletion.deleted)}>
            Show more
          </button>
        )}
      </div>
    </div>
  );
}

/** Nothing to show: why, and where there may be some. */
function Empty({ query, onChange }: { query: Query; onChange: (query: Query) => void }) {
  const { search, scope, agent } = query;
  return (
    <div class="history-empty">
      <p>
        {search ? `Nothing ${NOWHERE[scope]} contains “${line(search, 60)}”` : `No conversations ${NOWHERE[scope]}`}
        {agent && " with this agent"}
        {!search && !agent && " yet. A conversation is kept once its first turn has finished"}.
      </p>
      {scope !== "everywhere" && (
        <button type="button" class="button small" onClick={() => onChange({ ...query, scope: "everywhere" })}>
          {search ? "Search everywhere" : "Show all conversations"}
        </button>
      )}
      {agent && (
        <button type="button" class="button small" onClick={() => onChange({ ...query, agent: "" })}>
          All agents
        </button>
      )}
    </div>
  );
}

/** Where an arrow key goes: from the search box into the list, from row to row, and back from the first. */
function target(event: KeyboardEvent, mains: HTMLElement[], box: HTMLElement | null): HTMLElement | null | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return undefined;
  const element = event.target as HTMLElement;
  if (element === box) return event.key === "ArrowDown" ? mains[0] : undefined;
  const main = element.closest(".history-line")?.querySelector<HTMLElement>(".history-main");
  if (!main) return undefined;
  const at = mains.indexOf(main);
  if (event.key === "ArrowDown") return mains[at + 1] ?? main;
  if (event.key === "ArrowUp") return at === 0 ? box : mains[at - 1];
  if (event.key === "Home") return mains[0];
  return event.key === "End" ? mains.at(-1) : undefined;
}

function said(found: Found, shown: number, search: string): string {
  if (found.isBusy) return search ? "Searching…" : "Loading…";
  if (found.trouble) return "";
  if (shown === 0) return search ? "Nothing found" : "No conversations";
  const what = shown === 1 && !found.hasMore ? "conversation" : "conversations";
  return `${found.hasMore ? "The latest " : ""}${count(shown)} ${what}${search ? " found" : ""}`;
}

/** The root channel's state, drawn again when it changes: this module has no signals of its own. */
function useRoot({ root }: HistoryContext): RootState | undefined {
  const [state, setState] = useState(root.peek());
  useEffect(() => root.subscribe(setState), [root]);
  return state;
}

/** Name and title of each agent that is known here, or has a conversation in the list. */
function useAgents(root: RootState | undefined, listed: readonly Conversation[]): [name: string, title: string][] {
  const seen = useRef(new Set<string>());
  for (const { agent } of listed) seen.current.add(agent);
  const known = new Map((root?.agents ?? []).map((one) => [one.provider, line(one.displayName || one.provider, 40)]));
  const missing = new Set((root?.agents ?? []).filter((one) => one.missing).map((one) => one.provider));
  const names = [...known.keys()].filter((name) => !missing.has(name) || seen.current.has(name));
  const others = [...seen.current].filter((name) => name && !known.has(name));
  return [...names, ...others].map((name) => [name, known.get(name) ?? line(name, 40)]);
}

interface Found {
  readonly conversations: readonly Conversation[];
  readonly hasMore: boolean;
  readonly left: number;
  readonly note: string;
  readonly trouble: string;
  readonly isBusy: boolean;
}

const NOTHING: Found = { conversations: [], hasMore: false, left: 0, note: "", trouble: "", isBusy: true };

/** The conversations that `query` asks for, page by page. The answer to the latest question counts. */
function useList(request: Request, query: Query) {
  const [found, setFound] = useState<Found>(NOTHING);
  const [asked, ask] = useState(0);
  const latest = useRef(0);
  const isBusy = useRef(false);
  const fetch = (before: readonly Conversation[], offset: number) => {
    latest.current += 1;
    const number = latest.current;
    isBusy.current = true;
    setFound((shown) => ({ ...shown, isBusy: true, trouble: "" }));
    const done = (next: (shown: Found) => Found) => {
      if (number !== latest.current) return;
      isBusy.current = false;
      setFound(next);
    };
    fetchList(request, query, offset).then(
      ({ conversations, ...rest }) => {
        const known = new Set(before.map(({ uri }) => uri));
        const all = [...before, ...conversations.filter(({ uri }) => !known.has(uri))];
        done(() => ({ ...rest, conversations: all, trouble: "", isBusy: false }));
      },
      (error: unknown) =>
        done(() => ({ ...NOTHING, conversations: before, trouble: reason(error) || "no reason given", isBusy: false })),
    );
  };
  useEffect(() => {
    fetch([], 0);
    return () => {
      latest.current += 1;
    };
  }, [query, asked]);
  return {
    found,
    /** Fetches the next page; what was deleted in the meantime no longer counts. */
    more: (deleted: ReadonlySet<string>) => {
      if (isBusy.current || !found.hasMore) return;
      const gone = found.conversations.filter(({ uri }) => deleted.has(uri)).length;
      fetch(found.conversations, found.conversations.length - gone);
    },
    again: () => ask(asked + 1),
  };
}
