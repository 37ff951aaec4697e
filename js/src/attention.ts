/**
 * Calls a user who is looking elsewhere when an agent needs an answer or has ended: a number in the page's title, a
 * mark on the sidebar's icon and, if the user turned them on, a browser notification. Fetched when an agent works.
 *
 * The texts are our own words and the agent's name: text of an agent or of the user could hold a secret.
 */
import type { effect, ReadonlySignal } from "@preact/signals";
import { openRequests } from "./state/open-requests";
import type { AgentInfo, SessionSummary } from "./state/types.gen";
import { chatChannel, isReadOnly, lookOf } from "./view/identity";
import { pendingCalls } from "./view/permission-answer";
import { line } from "./view/plain";
import { isArchived, isIdle, isRead, needsAnswer } from "./view/status";
import type { Store } from "./view/store";

/** How long a call must wait before a notification is shown, in milliseconds. */
const GRACE = 700;
/** How long something stays "just seen", and how long a question must be in sight to count as seen, in milliseconds. */
const JUST = 2_000;
/** The `localStorage` key of the notified calls of all windows of this browser: ids and times. */
const NOTIFIED = "agentnb notified";
const MOST_NOTIFIED = 100;

export interface AttentionContext {
  readonly store: Store;
  /** `effect` and `signal` of the signals that the store is made of. */
  readonly effect: typeof effect;
  readonly signal: (value: boolean) => { value: boolean };
  /** The conversations that this page's views show. */
  readonly onScreen: ReadonlySignal<readonly string[]>;
  /** Shows a conversation to the user who looks at this page. */
  show(resource: string): void;
}

/** Something that the user should look at. */
interface Call {
  /** The same in every window; if `since` is not 0, also the same for the conversation's next call. */
  readonly id: string;
  /** When this window met the call, in milliseconds since 1970: an earlier call of the same name was another one. */
  readonly since: number;
  readonly resource: string;
  readonly text: string;
}

export default function callUser({ store, effect, signal, onScreen, show }: AttentionContext): () => void {
  const front = signal(isInFront());
  const look = () => {
    front.value = isInFront();
  };
  const over = new AbortController();
  const until = { signal: over.signal };
  window.addEventListener("focus", look, until);
  window.addEventListener("blur", look, until);
  document.addEventListener("visibilitychange", look, until);
  const notifications = new Notifications(show);
  page.agentnbPageNumber ??= makePageNumber();
  const number = page.agentnbPageNumber;
  const running = new Set<string>();
  const ended = new Map<string, Call>();
  /** The time when each conversation was last seen. A cell's live answer disappears a moment before its turn ends. */
  const seenAt = new Map<string, number>();
  /** The time since which each conversation has a question, by resource. */
  const askedAt = new Map<string, number>();
  /** The time since which each waiting question is in sight, or was when the user left. */
  const inSight = new Map<string, number>();
  const me = {};
  let before: readonly string[] = [];
  let marked: readonly [number, number] = [0, 0];
  const end = effect(() => {
    const { sessions = [], agents = [] } = store.root.value ?? {};
    const isFront = front.value;
    const seen = isFront ? onScreen.value : [];
    for (const resource of [...seen, ...before]) seenAt.set(resource, performance.now());
    before = seen;
    const open = sessions.filter((one) => !isArchived(one));
    const asking = open.filter((one) => needsAnswer(one.status));
    for (const known of [...askedAt.keys()]) if (!asking.some((one) => one.resource === known)) askedAt.delete(known);
    const waiting = asking.flatMap((one) => {
      const since = askedAt.get(one.resource) ?? Date.now();
      askedAt.set(one.resource, since);
      return questionsOf(store, one.resource, since, nameOf(agents, one));
    });
    follow(inSight, waiting, seen);
    const unseen = waiting.filter(({ resource }) => !seen.includes(resource));
    for (const one of open) {
      const { resource, status } = one;
      if (!isIdle(status)) {
        running.add(resource);
        ended.delete(resource);
      } else if (running.delete(resource) && performance.now() - (seenAt.get(resource) ?? -JUST) > JUST) {
        ended.set(resource, endOf(one, nameOf(agents, one)));
      }
      if (isFront && (seen.includes(resource) || isRead(status))) ended.delete(resource);
    }
    const there = new Set(open.map(({ resource }) => resource));
    const over = [...ended].filter(([resource]) => there.has(resource)).map(([, call]) => call);
    const all = [...unseen, ...over];
    number.set(me, isFront ? unseen.length : all.length);
    // If a conversation of this kernel is on screen, the marks of the others are too.
    const isWanted = seen.length === 0 && lookOf(store.root.value).notifications === true;
    notifications.show(isWanted ? all.filter(({ id }) => !inSight.has(id)) : []);
    const mark = [all.length, unseen.length] as const;
    if (marked.join() !== mark.join()) store.notebook?.attention?.(...mark);
    marked = mark;
  });
  return () => {
    end();
    over.abort();
    notifications.show([]);
    number.set(me, 0);
    if (marked[0]) store.notebook?.attention?.(0, 0);
  };
}

/** Records which questions are in sight; a question that the user left within `JUST` counts as new. */
function follow(inSight: Map<string, number>, waiting: readonly Call[], seen: readonly string[]): void {
  const now = performance.now();
  const ids = new Set(waiting.map(({ id }) => id));
  for (const id of [...inSight.keys()]) if (!ids.has(id)) inSight.delete(id);
  for (const { id, resource } of waiting) {
    const since = inSight.get(id);
    if (seen.includes(resource)) inSight.set(id, since ?? now);
    else if (since !== undefined && now - since < JUST) inSight.delete(id);
  }
}

const isInFront = (): boolean => document.visibilityState !== "hidden" && document.hasFocus();

function nameOf(agents: readonly AgentInfo[], { provider, title }: SessionSummary): string {
  if (provider.startsWith("terminal-")) return "An agent in a terminal";
  const known = agents.find((agent) => agent.provider === provider);
  return line(known?.displayName || (isReadOnly(provider) && title) || provider || "An agent", 40);
}

/** One call for each question of the main chat; otherwise one for all: the page knows no chat that nobody views. */
function questionsOf(store: Store, resource: string, since: number, agent: string): Call[] {
  const channel = store.session(resource).value?.defaultChat ?? chatChannel(resource);
  const chat = store.chat(channel).value;
  const turn = chat?.activeTurn;
  const calls = pendingCalls(turn).map(({ toolCallId }) => `${turn?.id} ${toolCallId}`);
  const ids = [...calls, ...openRequests(chat).map(({ id }) => id)];
  const text = `${agent} needs your answer`;
  if (ids.length) return ids.map((id) => ({ id: `${resource} ${id}`, since: 0, resource, text }));
  return chat ? [{ id: `${resource} asks`, since, resource, text }] : [];
}

const ERROR = 2;

function endOf({ resource, status }: SessionSummary, agent: string): Call {
  const text = `${agent} ${status & ERROR ? "has failed" : "has finished"}`;
  return { id: `${resource} ended`, since: Date.now(), resource, text };
}

/** This window's browser notifications. */
class Notifications {
  readonly #notifications = new Map<string, Notification | undefined>();
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
  readonly #go: (resource: string) => void;

  /** @param go Shows the conversation, after a click. */
  constructor(go: (resource: string) => void) {
    this.#go = go;
  }

  /** Shows notifications for these calls and closes all others. */
  show(calls: readonly Call[]): void {
    const ids = new Set(calls.map(({ id }) => id));
    for (const [id, timer] of this.#timers) {
      if (ids.has(id)) continue;
      clearTimeout(timer);
      this.#timers.delete(id);
      this.#notifications.get(id)?.close();
      this.#notifications.delete(id);
    }
    for (const call of calls)
      if (!this.#timers.has(call.id))
        this.#timers.set(
          call.id,
          setTimeout(() => void this.#notify(call), GRACE),
        );
  }

  async #notify({ id, since, resource, text }: Call): Promise<void> {
    if (!("Notification" in globalThis) || Notification.permission !== "granted" || !(await isFirst(id, since))) return;
    if (!this.#timers.has(id)) return;
    try {
      const notification = new Notification(text, { body: "Go to the chat in the notebook.", tag: `agentnb ${id}` });
      notification.onclick = () => {
        window.focus();
        this.#go(resource);
        notification.close();
      };
      this.#notifications.set(id, notification);
    } catch {
      // This browser shows notifications only from service workers.
    }
  }
}

/** True if no window of this browser has notified of the call since then; a lock makes one window the first. */
async function isFirst(id: string, since: number): Promise<boolean> {
  const check = (): boolean => {
    try {
      const known: unknown = JSON.parse(localStorage.getItem(NOTIFIED) ?? "[]");
      const all = (Array.isArray(known) ? known : []).filter(Array.isArray);
      if (all.some(([name, at]) => name === id && at > since)) return false;
      localStorage.setItem(NOTIFIED, JSON.stringify([...all, [id, Date.now()]].slice(-MOST_NOTIFIED)));
    } catch {
      // No storage: the notification's tag lets the browser merge equal ones.
    }
    return true;
  };
  return navigator.locks ? navigator.locks.request(NOTIFIED, check) : check();
}

interface PageNumber {
  /** Sets the owner's number; 0 removes it. */
  set(owner: object, count: number): void;
}

const page = globalThis as { agentnbPageNumber?: PageNumber };

/** The number in the page's title, shared by all notebooks of the page: each has its own bundle of modules. */
function makePageNumber(): PageNumber {
  const counts = new Map<object, number>();
  let prefix = "";
  const draw = (): void => {
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const { title } = document;
    const bare = prefix && title.startsWith(prefix) ? title.slice(prefix.length) : title;
    prefix = total ? `(${total}) ` : "";
    if (title !== prefix + bare) document.title = prefix + bare;
  };
  // JupyterLab rewrites the title when the user shows another tab.
  const observer = new MutationObserver(draw);
  return {
    set(owner, count) {
      if (count) counts.set(owner, count);
      else if (!counts.delete(owner)) return;
      draw();
      observer.disconnect();
      if (counts.size) observer.observe(document.head, { childList: true, subtree: true, characterData: true });
    },
  };
}
