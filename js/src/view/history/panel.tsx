/** The history: all conversations of the log, to search, preview, reopen and delete. */

import type { ReadonlySignal } from "@preact/signals";
import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import { own } from "../../state/object";
import type { RootState } from "../../state/types.gen";
import { Button, longInput, TextButton, TextField, Trouble, tooLong } from "../controls";
import { mountPanel, useValue } from "../fetched-panel";
import { Icon, Spinner } from "../icons";
import { isFindKey, isHistoryKey } from "../keyboard";
import { Menu } from "../menu";
import { count, line, reason } from "../plain";
import { isArchived } from "../status";
import { useAfter } from "../use-work";
import { AgentSessions } from "./agent-sessions";
import { Deletions, Selection, several } from "./banners";
import { useDeletion } from "./deletion";
import { Filters, inWords } from "./filters";
import CSS from "./history.css";
import { byDay, type Change, type Conversation, type Query, type Scope, type Show } from "./list";
import { Row, type RowHandlers } from "./row";
import { Storage } from "./storage";
import { type Found, PAUSE, useChanges, useList } from "./use-list";

export interface HistoryContext {
  readonly root: ReadonlySignal<RootState | undefined>;
  /** A new value each time the kernel reports that conversations of the log have changed. */
  readonly changed: ReadonlySignal<unknown> | undefined;
  readonly request: Request;
  /** Shows a conversation that the kernel has opened, or is about to show, and closes the panel. */
  open(uri: string): void;
  close(): void;
  /** Announces a sentence to screen readers, politely; also after the panel was closed. */
  announce(sentence: string): void;
}

/** Shows the panel in `into`; returns a function that removes it and sends the pending deletions. */
export function mountHistory(into: HTMLElement, context: HistoryContext): () => void {
  return mountPanel(into, CSS, "column history", h(History, { context }));
}

/** The distance from the list's end, in pixels, at which it fetches more. */
const NEAR_END = 400;

const NOTHING_NARROWED = { agent: "", show: "" as Show, days: 0 };
const NOWHERE: Record<Scope, string> = {
  here: "in this notebook",
  folder: "in this folder",
  everywhere: "anywhere",
};

function History({ context }: { context: HistoryContext }) {
  const { request, announce } = context;
  const box = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [typed, setTyped] = useState("");
  const [refused, refuse] = useState("");
  const [isFiltering, setFiltering] = useState(false);
  const [query, setQuery] = useState<Query>({ search: "", scope: "here", ...NOTHING_NARROWED });
  const root = useValue(context.root);
  const { found: results, more, again, refresh } = useList(request, query);
  const [chosen, setChosen] = useState<ReadonlySet<string>>();
  const [isStorage, setStorage] = useState(false);
  const [troubles, setTroubles] = useState<Readonly<Record<string, string>>>({});
  const [opening, setOpening] = useState<string>();
  const [current, setCurrent] = useState<string>();
  const trouble = (uri: string, why: string) => setTroubles((all) => ({ ...all, [uri]: why }));
  const failed = ({ uri, title }: Conversation, why: string) => {
    announce(`${line(title, 60)} couldn't be deleted: ${why}`);
    trouble(uri, `Couldn't be deleted: ${why}`);
  };
  const sending = (uri: string) => {
    const focused = (list.current?.getRootNode() as ShadowRoot | undefined)?.activeElement as HTMLElement | null;
    if (focused?.dataset.undo === uri) box.current?.focus(); // the focused Undo button disappears
  };
  const deletion = useDeletion(request, { sending, failed });
  useEffect(() => box.current?.focus(), []);
  useChanges(request, context.changed, refresh);
  useAfter(typed === query.search ? undefined : PAUSE, () => setQuery({ ...query, search: typed }), [typed, query]);
  const conversations = results.conversations.filter(({ uri }) => !deletion.hidden.has(uri));
  const days = byDay(conversations, new Date());
  const agents = useAgents(root, results.conversations);
  const openHere = new Set((root?.sessions ?? []).filter((one) => !isArchived(one)).map(({ resource }) => resource));
  const deletable = conversations.filter(({ uri, isElsewhere }) => !isElsewhere && !openHere.has(uri));
  const active = conversations.some(({ uri }) => uri === current) ? current : conversations[0]?.uri;
  const mains = () => [...(list.current?.querySelectorAll<HTMLElement>(".history-main") ?? [])];

  /** Runs an action on a conversation; if it fails, shows which action and why. */
  const attempt = async (one: Conversation, done: string, work: () => Promise<unknown>, failed?: () => void) => {
    setTroubles(({ [one.uri]: _, ...others }) => others);
    try {
      await work();
    } catch (error) {
      trouble(one.uri, `Couldn't be ${done}: ${reason(error)}`);
      failed?.();
    }
  };
  const open = (one: Conversation) => {
    setOpening(one.uri);
    const work = async () => {
      if (!openHere.has(one.uri)) await request("resumeSession", { channel: one.uri });
      context.open(one.uri);
    };
    return attempt(one, "opened", work, () => setOpening(undefined));
  };
  const remove = (one: Conversation) => {
    const at = conversations.indexOf(one);
    const next = conversations[at + 1] ?? conversations[at - 1];
    const there = mains();
    (next ? there[conversations.indexOf(next)] : box.current)?.focus();
    deletion.remove([one]);
    announce(`Deleted ${line(one.title, 60)} and its undo history. You can undo this for ten seconds.`);
  };
  const change = (one: Conversation, wanted: Change) =>
    attempt(one, doneBy(wanted), async () => {
      await request("updateSession", { channel: one.uri, ...wanted });
      announce(`${line(wanted.title ?? one.title, 60)} is ${doneBy(wanted)}.`);
    });
  const duplicate = (one: Conversation) =>
    attempt(one, "duplicated", async () => {
      await request("duplicateSession", { channel: one.uri });
      announce(`${line(one.title, 60)} is duplicated.`);
      refresh();
    });
  const chosenOnes = conversations.filter(({ uri }) => chosen?.has(uri));
  const endChoosing = () => {
    setChosen(undefined);
    box.current?.focus();
  };
  const removeChosen = () => {
    deletion.remove(chosenOnes);
    announce(`Deleted ${several(chosenOnes.length)} and their undo history. You can undo this for ten seconds.`);
    endChoosing();
  };
  const archiveChosen = async () => {
    const isArchived = query.show === "archived";
    endChoosing();
    for (const one of chosenOnes) await change(one, { archived: !isArchived });
    refresh();
  };
  const doings: RowHandlers = {
    focus: ({ uri }) => setCurrent(uri),
    choose: ({ uri }, isChosen) =>
      setChosen((all) => new Set([...(all ?? [])].filter((one) => one !== uri).concat(isChosen ? uri : []))),
    open,
    remove,
    change: (one, wanted) => change(one, wanted).then(refresh),
    duplicate,
    trouble,
  };
  const narrow = (wanted: Partial<Query>) => setQuery({ ...query, search: typed, ...wanted });
  const type = (text: string) => {
    refuse(tooLong(text));
    if (!tooLong(text)) setTyped(text);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation(); // the chat's own keys are for its conversation
    if (event.key === "Escape" || isHistoryKey(event)) context.close();
    else if (isFindKey(event)) {
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
  const filters = inWords(query, agents);
  const ownAgent = query.agent || (agents.length === 1 ? (agents[0]?.[0] ?? "") : "");
  if (isStorage) {
    const back = () => {
      setStorage(false);
      refresh();
    };
    return (
      // biome-ignore lint/a11y/noStaticElementInteractions: it only hears what its parts are told
      <div
        class="column history-inside"
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key !== "Escape" && !isHistoryKey(event)) return;
          event.preventDefault();
          if (event.key === "Escape") back();
          else context.close();
        }}
      >
        <Storage request={request} onClose={back} />
      </div>
    );
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only hears what its parts are told
    <div class="column history-inside" onKeyDown={onKeyDown} onBeforeInput={longInput(refuse)}>
      <div class="row history-head" role="search" aria-label="Conversations">
        <TextField
          ref={box}
          type="search"
          label="Search titles, prompts and answers"
          placeholder="Search conversations"
          value={typed}
          onText={type}
        />
        <Button
          class="history-filter"
          aria-label={`Filter: ${filters}`}
          aria-expanded={isFiltering}
          onClick={() => setFiltering(!isFiltering)}
        >
          <Icon name="filter" />
          <span class="cut">{filters}</span>
        </Button>
        <Menu
          label="More"
          items={[
            ...(conversations.length > 0 && !chosen ? [{ name: "Select", onSelect: () => setChosen(new Set()) }] : []),
            { name: "Storage", onSelect: () => setStorage(true) },
          ]}
        >
          <Icon name="more" />
        </Menu>
      </div>
      {isFiltering && <Filters query={query} agents={agents} narrow={narrow} />}
      <Trouble text={refused} class="history-trouble small" />
      <p class="history-count dim small" role="status">
        {countText(results, conversations.length, query.search)}
      </p>
      {chosen && (
        <Selection
          number={chosenOnes.length}
          archive={query.show === "archived" ? "Unarchive" : "Archive"}
          onAll={() => setChosen(new Set(deletable.map(({ uri }) => uri)))}
          onArchive={() => void archiveChosen()}
          onDelete={removeChosen}
          onCancel={endChoosing}
        />
      )}
      <Deletions
        deletion={deletion}
        onKept={(sentence) => {
          announce(sentence);
          box.current?.focus();
        }}
      />
      <div class="history-list" ref={list} onScroll={onScroll} aria-busy={results.isBusy}>
        {results.note && <p class="note">{line(results.note, 2000)}</p>}
        {results.left > 0 && (
          <p class="note">
            {several(results.left).replace(" ", " older ")} not searched yet.{" "}
            <TextButton onClick={again}>Search again</TextButton>
          </p>
        )}
        {days.map((day) => (
          <section key={day.name} aria-label={day.name}>
            <h4>{day.name}</h4>
            <ul class="list">
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
                  isChosen={chosen?.has(one.uri)}
                  request={request}
                  doings={doings}
                />
              ))}
            </ul>
          </section>
        ))}
        {results.trouble && (
          <div class="row wraps history-empty" role="alert">
            <p>Couldn't list the conversations: {line(results.trouble, 600)}</p>
            <Button onClick={again}>Try again</Button>
          </div>
        )}
        {results.isBusy && <Spinner />}
        {!results.isBusy && !results.trouble && conversations.length === 0 && (
          <Empty query={query} onChange={setQuery} />
        )}
        {!results.isBusy && results.hasMore && (
          <TextButton class="history-more" onClick={() => more(deletion.deleted)}>
            Show more
          </TextButton>
        )}
        {!results.isBusy && !results.hasMore && ownAgent && !query.search && !query.show && query.days === 0 && (
          <AgentSessions
            key={`${ownAgent} ${query.scope === "everywhere"}`}
            agent={ownAgent}
            title={agents.find(([name]) => name === ownAgent)?.[1] ?? ownAgent}
            everywhere={query.scope === "everywhere"}
            request={request}
            open={context.open}
          />
        )}
      </div>
    </div>
  );
}

/** An empty list: the reason, and where there may be conversations. */
function Empty({ query, onChange }: { query: Query; onChange: (query: Query) => void }) {
  const { search, scope, agent, show, days } = query;
  const isNarrowed = agent !== "" || show !== "" || days > 0;
  return (
    <div class="row wraps history-empty">
      <p>
        {search ? `Nothing ${NOWHERE[scope]} contains “${line(search, 60)}”` : `No conversations ${NOWHERE[scope]}`}
        {isNarrowed && " with these filters"}
        {!search && !isNarrowed && " yet. A conversation appears here after its first turn"}.
      </p>
      {scope !== "everywhere" && (
        <Button onClick={() => onChange({ ...query, scope: "everywhere" })}>
          {search ? "Search everywhere" : "Show all conversations"}
        </Button>
      )}
      {isNarrowed && <Button onClick={() => onChange({ ...query, ...NOTHING_NARROWED })}>Clear filters</Button>}
    </div>
  );
}

function doneBy({ title, pinned, archived }: Change): string {
  if (title !== undefined) return "renamed";
  if (pinned !== undefined) return pinned ? "pinned" : "unpinned";
  return archived ? "archived" : "unarchived";
}

/** Returns the target of an arrow key: from the search box into the list, from row to row, back from the first. */
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

function countText(results: Found, number: number, search: string): string {
  if (results.isBusy) return search ? "Searching…" : "Loading…";
  if (results.trouble) return "";
  if (number === 0) return search ? "Nothing found" : "No conversations";
  const what = number === 1 && !results.hasMore ? "conversation" : "conversations";
  return `${results.hasMore ? "The latest " : ""}${count(number)} ${what}${search ? " found" : ""}`;
}

/** Returns name and title of each agent that is known here or has a conversation in the list. */
function useAgents(root: RootState | undefined, listed: readonly Conversation[]): [name: string, title: string][] {
  const seen = useRef(new Set<string>());
  for (const { agent } of listed) seen.current.add(agent);
  const here = root?.agents ?? [];
  const known = new Map(here.map((one) => [one.provider, line(one.displayName || one.provider, 40)]));
  const names = here.filter((one) => !one.missing || seen.current.has(one.provider)).map((one) => one.provider);
  const others = [...seen.current].filter((name) => name && !known.has(name));
  return [...names, ...others].map((name) => [name, known.get(name) ?? line(name, 40)]);
}
