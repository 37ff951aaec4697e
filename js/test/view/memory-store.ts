/** A store in memory with the real reducers: the test itself applies what the host would confirm. */
import { type Signal, signal } from "@preact/signals";
import { fits } from "../../src/state/answers";
import { isObject, own } from "../../src/state/object";
import { reduceChangeset, reduceChat, reduceRoot, reduceSession } from "../../src/state/reduce";
import { ANSWERS, FORMS } from "../../src/state/requests.gen";
import type {
  Action,
  ChangesetState,
  ChatState,
  RootState,
  SessionState,
  SessionSummary,
} from "../../src/state/types.gen";
import type {
  ChangeText,
  Connection,
  ContentRef,
  NotebookActions,
  Older,
  Refusal,
  Side,
  Store,
  ViewLink,
} from "../../src/view/store";
import { fetchPart } from "./modules";

export const SESSION = "eliza:/one";
export const CHAT = `${SESSION}/chat`;
export const AGENT = { provider: "eliza", displayName: "Eliza", description: "Built in", models: [] };

/** Adds the fields of a value's form that the test leaves out, with empty values. */
function complete(value: unknown, kind: string): unknown {
  if (kind.endsWith("?")) return value === undefined ? undefined : complete(value, kind.slice(0, -1));
  if (kind.endsWith("[]")) return Array.isArray(value) ? value.map((item) => complete(item, kind.slice(0, -2))) : value;
  const form = own(FORMS, kind);
  if (!form || !isObject(value)) return value;
  const fields = Object.entries(form).map(([field, of]) => [field, complete(value[field] ?? empty(of), of)]);
  return { ...value, ...Object.fromEntries(fields) };
}

function empty(kind: string): unknown {
  if (kind.endsWith("?")) return undefined;
  if (kind.endsWith("[]")) return [];
  if (kind.startsWith("=")) return kind.slice(1).split("|")[0];
  if (own(FORMS, kind)) return complete({}, kind);
  return { string: "", integer: 0, count: 0, number: 0, boolean: false }[kind];
}

export class MemoryStore implements Store {
  readonly clientId = "me";
  readonly module = fetchPart;
  readonly connection = signal<Connection>("live");
  readonly refusals = signal<readonly Refusal[]>([]);
  readonly gaps = signal<Readonly<Record<string, string>>>({});
  readonly hostId = signal<string | undefined>("host");
  readonly ahead = signal(0);
  isUnsaid = false;
  readonly successor = signal<(() => void) | undefined>(undefined);
  readonly refusal = signal<string | undefined>(undefined);
  readonly root = signal<RootState | undefined>(undefined);
  readonly dispatched: { channel: string; action: Action }[] = [];
  readonly requested: { method: string; params: unknown }[] = [];
  readonly fetched: { channel: string; limit: number }[] = [];
  readonly visible = new Map<string, boolean>();
  readonly sessionsChanged = signal<unknown>(undefined);
  readonly drafts = signal<Readonly<Record<string, string>>>({});
  notify?: (method: string, params: unknown) => void;
  notebook?: NotebookActions;
  answer: (method: string, params: unknown) => Promise<unknown> = () => Promise.resolve({});
  #refused = 0;
  #sessions = new Map<string, Signal<SessionState | undefined>>();
  #older = new Map<string, Signal<Older>>();
  #changesets = new Map<string, Signal<ChangesetState | undefined>>();
  #chats = new Map<string, Signal<ChatState | undefined>>();

  session(channel: string): Signal<SessionState | undefined> {
    return entry(this.#sessions, channel);
  }

  chat(channel: string): Signal<ChatState | undefined> {
    return entry(this.#chats, channel);
  }

  changeset(channel: string): Signal<ChangesetState | undefined> {
    return entry(this.#changesets, channel);
  }

  change(channel: string, id: string, side: Side): Promise<ChangeText> {
    return this.request("readChange", { channel, id, side });
  }

  older(channel: string): Signal<Older> {
    const olderTurns = this.#older.get(channel) ?? signal<Older>({ left: 0, turns: [] });
    this.#older.set(channel, olderTurns);
    return olderTurns;
  }

  fetchOlder(channel: string, limit: number): Promise<void> {
    this.fetched.push({ channel, limit });
    return Promise.resolve();
  }

  content(channel: string, ref: ContentRef): Promise<string> {
    return this.request("fetchContent", { channel, ...ref });
  }

  file(channel: string, path: string): Promise<Blob> {
    return this.request("readFile", { channel, path });
  }

  dispatch(channel: string, action: Action): void {
    this.dispatched.push({ channel, action });
    this.apply(channel, action);
  }

  /** Applies an action of the host. */
  apply(channel: string, action: Action): void {
    if (channel.endsWith("/chat")) update(this.chat(channel), (state) => reduceChat(state, action));
    else if (channel.includes("/changes")) update(this.changeset(channel), (state) => reduceChangeset(state, action));
    else if (channel.startsWith("ahp-root:")) update(this.root, (state) => reduceRoot(state, action));
    else update(this.session(channel), (state) => reduceSession(state, action));
  }

  async request<T>(method: string, params: unknown): Promise<T> {
    this.requested.push({ method, params });
    const answer = await this.answer(method, params);
    const kind = own(ANSWERS, method);
    if (kind === undefined || answer instanceof Blob || typeof answer === "string") return answer as T;
    const whole = complete(answer, kind);
    if (!fits(whole, kind)) throw new Error("The answer can't be read.");
    return whole as T;
  }

  dismiss(id: number): void {
    this.refusals.value = this.refusals.peek().filter((one) => one.id !== id);
  }

  acceptGap(channel: string): void {
    const { [channel]: _, ...others } = this.gaps.peek();
    this.gaps.value = others;
  }

  /** Rejects the last dispatched action. */
  refuse(reason: string): void {
    const { channel, action } = this.dispatched.at(-1) as { channel: string; action: Action };
    this.#refused += 1;
    this.refusals.value = [...this.refusals.peek(), { id: this.#refused, channel, action, reason }];
  }

  view(viewId: string): ViewLink {
    this.visible.set(viewId, false);
    return {
      setVisible: (visible) => this.visible.set(viewId, visible),
      close: () => this.visible.delete(viewId),
    };
  }
}

function entry<T>(map: Map<string, Signal<T | undefined>>, key: string): Signal<T | undefined> {
  const known = map.get(key);
  if (known) return known;
  const made = signal<T | undefined>(undefined);
  map.set(key, made);
  return made;
}

function update<T>(state: Signal<T | undefined>, reduce: (state: T) => T): void {
  if (state.peek() !== undefined) state.value = reduce(state.peek() as T);
}

const EPOCH = "1970-01-01T00:00:00.000Z";

export function summary(resource: string, title = "", status = 33): SessionSummary {
  const provider = resource.split(":")[0] as string;
  return { resource, provider, title, status, createdAt: EPOCH, modifiedAt: EPOCH };
}

/** The state of a ready session without additional chats. */
export function sessionState(resource: string, status = 33): SessionState {
  const { provider, title } = summary(resource);
  return { provider, title, status, lifecycle: "ready", activeClients: [], chats: [] };
}

/** A store with one ready session of Eliza and its empty chat. */
export function readyStore(): MemoryStore {
  const store = new MemoryStore();
  store.root.value = { agents: [AGENT], sessions: [summary(SESSION)] };
  addSession(store, SESSION);
  return store;
}

export function addSession(store: MemoryStore, resource: string): void {
  store.session(resource).value = sessionState(resource);
  store.chat(`${resource}/chat`).value = {
    resource: `${resource}/chat`,
    title: "",
    status: 1,
    modifiedAt: EPOCH,
    turns: [],
  };
}

/** Starts a turn as the host would. */
export function startTurn(store: MemoryStore, turnId: string, text: string, channel = CHAT): void {
  store.apply(channel, { type: "chat/turnStarted", turnId, message: { text, origin: { kind: "user" } } });
}
