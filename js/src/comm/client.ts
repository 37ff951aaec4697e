/**
 * The client: this page's copy of the widget model, and the store that every view of it draws from.
 *
 * It is made once per page and model. What the kernel sends is applied by index (known ones are dropped, a hole is asked
 * for), acknowledged, and shown; what a view does is applied at once and sent.
 */
import { batch, type ReadonlySignal, signal } from "@preact/signals";
import { notebookOf } from "../notebooks.ts";
import { isObject } from "../state/guard.ts";
import { reduceChat, reduceRoot, reduceSession } from "../state/reduce.ts";
import { WINDOW } from "../state/tables.gen.ts";
import type { Action, ChatState, Envelope, RootState, SessionState } from "../state/types.gen.ts";
import { uuid } from "../uuid.ts";
import type { Connection, ContentRef, NotebookActions, Older, Store } from "../view/store.ts";
import { ChannelStore, type Reduce } from "./channel.ts";
import { Contents } from "./contents.ts";
import {
  type Flush,
  isContent,
  isFlush,
  isInitialized,
  isReplay,
  isSnapshot,
  isTurns,
  type Outgoing,
  Refused,
  read,
  speaks,
  UNSUPPORTED_VERSION,
  versions,
} from "./messages.ts";
import { Pulse } from "./pulse.ts";
import { announceLive, type Manager, onLive, type Standing, standing, watchKernel } from "./surroundings.ts";

export const ROOT = "ahp-root://";
const PING_MS = 10_000;
const RETRY_MS = 3_000;

type Listener = (message: unknown, buffers?: readonly DataView[]) => void;

/** The little of anywidget's model that a client needs. */
export interface Wire {
  send(message: unknown): void;
  on(event: "msg:custom", listener: Listener): void;
  off(event: "msg:custom", listener: Listener): void;
  readonly widget_manager?: Manager;
}

export interface Client extends Store {
  readonly clientId: string;
  dispose(): void;
}

interface Answer {
  result: unknown;
  buffers: readonly DataView[];
}

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

// biome-ignore lint/suspicious/noExplicitAny: a map of channels of different states
type AnyChannel = ChannelStore<any>;

export function createClient(wire: Wire): Client {
  return new PageClient(wire);
}

class PageClient implements Client {
  readonly clientId = uuid();
  readonly connection = signal<Connection>("connecting");
  readonly hostId = signal<string | undefined>(undefined);
  readonly drafts = signal<Readonly<Record<string, string>>>({});
  readonly successor = signal<(() => void) | undefined>(undefined);
  readonly refusal = signal<string | undefined>(undefined);
  #wire: Wire;
  #version: number = WINDOW.current;
  #pulse = new Pulse();
  #wasCut = false;
  #isLost = false;
  #ahead: Record<string, number> = {};
  #ends: (() => void)[] = [];
  #channels = new Map<string, AnyChannel>();
  #subscribed = new Set<string>([ROOT]);
  #unanswered = new Set<string>();
  #fetching = new Set<string>();
  #initializing: number | undefined;
  #views = new Map<string, { visible: boolean; element: Element | undefined }>();
  #visible = false;
  #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #nextSeq = 1;
  #timers: ReturnType<typeof setInterval>[] = [];
  #logged = new Set<string>();
  #contents = new Contents();
  #listener: Listener = (message, buffers = []) => this.#receive(message, buffers);

  constructor(wire: Wire) {
    this.#wire = wire;
    wire.on("msg:custom", this.#listener);
    const manager = wire.widget_manager;
    this.#ends = [
      watchKernel(manager, () => {
        this.#stand();
        this.#ping();
      }),
      onLive(manager, (show) => {
        if (this.#isLost) this.successor.value = show;
      }),
    ];
    this.#initialize();
    this.#timers.push(setInterval(() => this.#beat(), PING_MS));
    this.#timers.push(setInterval(() => this.#retry(), RETRY_MS));
  }

  get notebook(): NotebookActions | undefined {
    return notebookOf(this.#wire.widget_manager);
  }

  get root(): ReadonlySignal<RootState | undefined> {
    return this.#channel<RootState>(ROOT).shown;
  }

  get isUnsaid(): boolean {
    const words = /turnStarted|pendingMessageSet/;
    return [...this.#channels.values()].some(({ pending }) => pending.some(({ action }) => words.test(action.type)));
  }

  session(channel: string): ReadonlySignal<SessionState | undefined> {
    return this.#follow<SessionState>(channel);
  }

  chat(channel: string): ReadonlySignal<ChatState | undefined> {
    return this.#follow<ChatState>(channel);
  }

  older(channel: string): ReadonlySignal<Older> {
    return this.#channel(channel).older;
  }

  async fetchOlder(uri: string, limit: number): Promise<void> {
    const channel = this.#channel(uri);
    if (channel.older.peek().left === 0 || this.#fetching.has(uri)) return;
    this.#fetching.add(uri);
    const before = channel.first;
    try {
      const result = await this.request<unknown>("fetchTurns", { channel: uri, before, limit });
      if (isTurns(result)) channel.prepend(before, result);
      else this.#log("The kernel's answer to fetchTurns is not of the protocol.");
    } finally {
      this.#fetching.delete(uri);
    }
  }

  content(channel: string, ref: ContentRef): Promise<string> {
    return this.#contents.get(ref, async (uri, offset, length) => {
      const { result, buffers } = await this.#ask("fetchContent", { channel, uri, offset, length });
      const [view] = buffers;
      if (!isContent(result) || !view) throw new Error("The kernel's answer to fetchContent is not of the protocol.");
      return { size: result.size, bytes: new Uint8Array(view.buffer, view.byteOffset, view.byteLength) };
    });
  }

  dispatch(uri: string, action: Action): void {
    const clientSeq = this.#nextSeq++;
    this.#channel(uri).push({ clientSeq, action });
    this.#notify("dispatchAction", { clientSeq, channel: uri, action });
  }

  async request<T>(method: string, params: unknown): Promise<T> {
    return (await this.#ask(method, params)).result as T;
  }

  #ask(method: string, params: unknown): Promise<Answer> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ jsonrpc: "2.0", v: this.#version, clientId: this.clientId, id, method, params });
    });
  }

  view(viewId: string, element?: Element): { setVisible(visible: boolean): void; close(): void } {
    const view = { visible: false, element };
    this.#views.set(viewId, view);
    const report = (): void => {
      const visible = [...this.#views.values()].some((view) => view.visible);
      if (visible === this.#visible) return;
      this.#visible = visible;
      this.#notify("visibility", { visible });
      if (visible) this.#ping();
      else this.#stand();
    };
    return {
      setVisible: (visible) => {
        view.visible = visible;
        report();
      },
      close: () => {
        this.#views.delete(viewId);
        report();
      },
    };
  }

  dispose(): void {
    this.#wire.off("msg:custom", this.#listener);
    for (const end of this.#ends) end();
    for (const timer of this.#timers) clearInterval(timer);
    for (const { reject } of this.#waiting.values()) reject(new Error("The widget was closed."));
    this.#waiting.clear();
    this.connection.value = "gone";
  }

  // --- channels ---

  #channel<S>(uri: string): ChannelStore<S> {
    const known = this.#channels.get(uri);
    if (known) return known;
    const made: AnyChannel = new ChannelStore(uri, reducerOf(uri));
    this.#channels.set(uri, made);
    return made;
  }

  #follow<S>(uri: string): ReadonlySignal<S | undefined> {
    if (!this.#subscribed.has(uri)) {
      this.#subscribed.add(uri);
      if (this.hostId.peek() !== undefined) this.#subscribe([uri]);
    }
    return this.#channel<S>(uri).shown;
  }

  #subscribe(channels: string[]): void {
    if (channels.length === 0) return;
    for (const uri of channels) this.#unanswered.add(uri);
    this.request<{ channels: Record<string, unknown>; missing?: string[] }>("subscribe", { channels })
      .then((result) => {
        for (const uri of channels) this.#unanswered.delete(uri);
        this.#take(result.channels);
      })
      .catch((error: Error) => this.#log(error.message));
  }

  /** Snapshots and replays, as `initialize` and `subscribe` answer them. */
  #take(channels: Record<string, unknown>): void {
    batch(() => {
      for (const [uri, update] of Object.entries(channels)) {
        const channel = this.#channel(uri);
        if (isSnapshot(update)) channel.restore(update.snapshot, update.fromIndex, update.answered, update.earlier);
        else if (isReplay(update)) this.#apply(update.replay);
        else this.#log(`The kernel sent neither snapshot nor replay for ${uri}.`);
      }
    });
  }

  #apply(envelopes: Envelope[]): void {
    const touched = new Set<AnyChannel>();
    const holes: Record<string, number> = {};
    for (const envelope of envelopes) {
      const channel = this.#channel(envelope.channel);
      touched.add(channel);
      if (channel.apply(envelope, this.clientId) === "hole") holes[envelope.channel] = channel.index;
    }
    for (const channel of touched) channel.show();
    if (Object.keys(holes).length > 0) this.#notify("resync", { seen: holes });
  }

  #flush(flush: Flush): void {
    if (this.#initializing !== undefined) return; // it may be of a kernel that we do not know yet; it comes again
    batch(() => {
      for (const [uri, { snapshot, fromIndex, answered, earlier }] of Object.entries(flush.snapshots ?? {}))
        this.#channel(uri).restore(snapshot, fromIndex, answered, earlier);
      this.#apply(flush.envelopes);
    });
    this.#notify("ack", { flush: flush.flush, seen: this.#seen() });
    this.#stand();
  }

  #seen(): Record<string, number> {
    return Object.fromEntries([...this.#channels].filter(([, c]) => c.index > 0).map(([uri, c]) => [uri, c.index]));
  }

  // --- the wire ---

  /** Introduces the page; once, until the kernel answers or the next try is due. */
  #initialize(): void {
    if (this.#initializing !== undefined) return;
    this.#initializing = this.#nextId;
    const hostId = this.hostId.peek();
    this.request<unknown>("initialize", {
      protocolVersions: versions(),
      lastSeen: this.#seen(),
      visible: this.#visible,
      ...(hostId === undefined ? {} : { hostId }),
    })
      .then((result) => this.#initialized(result))
      .catch((error: Error) => this.#refused(error)); // and is tried again
  }

  #refused(error: Error): void {
    if (error instanceof Refused && error.code === UNSUPPORTED_VERSION) this.refusal.value = error.message;
    this.#log(error.message);
  }

  #initialized(result: unknown): void {
    if (!isInitialized(result)) return this.#log("The kernel's answer to initialize is not of the protocol.");
    if (!speaks(result.protocolVersion)) return this.#refused(wrongVersion(result.protocolVersion));
    this.#version = result.protocolVersion;
    this.#initializing = undefined;
    this.#pulse.answered();
    const before = this.hostId.peek();
    if (before !== undefined && before !== result.hostId)
      for (const channel of this.#channels.values()) channel.clear();
    batch(() => {
      this.hostId.value = result.hostId;
      this.refusal.value = undefined;
      if (isObject(result.drafts)) this.drafts.value = result.drafts as Record<string, string>;
      this.#take(result.channels);
      this.#stand();
    });
    announceLive({ manager: this.#wire.widget_manager, show: () => this.#show() });
    this.#subscribe([...this.#subscribed].filter((uri) => !(uri in result.channels)));
    if (before === undefined || before === result.hostId) this.#sendPendingAgain();
  }

  /** Actions that the kernel has not answered: it knows them by their ids, so twice is as good as once. */
  #sendPendingAgain(): void {
    for (const channel of this.#channels.values())
      for (const { clientSeq, action } of channel.pending)
        this.#notify("dispatchAction", { clientSeq, channel: channel.uri, action });
  }

  #receive(raw: unknown, buffers: readonly DataView[]): void {
    const message = read(raw, this.clientId);
    if (message === undefined) return;
    if (message.kind === "notification") return this.#notified(message.method, message.params);
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.kind === "result") waiting?.resolve({ result: message.result, buffers });
    else waiting?.reject(new Refused(message));
  }

  #notified(method: string, params: unknown): void {
    if (method === "actions" && isFlush(params)) this.#flush(params);
    else if (method === "unknownClient") {
      this.#pulse.answered();
      this.#initialize();
    } else if (method === "draft" && isObject(params) && typeof params.channel === "string")
      this.drafts.value = { ...this.drafts.peek(), [params.channel]: String(params.text ?? "") };
    else if (method === "pong" && isObject(params)) this.#pong(params);
    else this.#log(`The kernel sent ${JSON.stringify(method)}, which this page does not understand.`);
  }

  /** Our words come through. After a silence, or a cut, some of them may not have, and some of the kernel's neither. */
  #pong({ hostId, indexes }: Record<string, unknown>): void {
    const again = this.#pulse.answered() || this.#wasCut;
    this.#ahead = isObject(indexes) ? (indexes as Record<string, number>) : {};
    if (again || hostId !== this.hostId.peek()) this.#initialize();
    this.#wasCut = false;
    this.#stand();
  }

  #ping(): void {
    this.#pulse.asked();
    this.#notify("ping", {});
  }

  #beat(): void {
    if (!this.#pulse.waits) this.#ping();
  }

  /** Asks again what the kernel has not answered, though it answers: it was not there then, or the answer was lost. */
  #retry(): void {
    if (this.#pulse.waits) {
      if (this.#pulse.beat()) this.#ping();
    } else if (this.#initializing !== undefined) {
      this.#waiting.get(this.#initializing)?.reject(new Error("The kernel has not answered yet."));
      this.#waiting.delete(this.#initializing);
      this.#initializing = undefined;
      this.#initialize();
      this.#ping();
    } else if (this.#unanswered.size > 0) {
      this.#subscribe([...this.#unanswered]);
      this.#ping();
    } else if (this.#visible && [...this.#channels.values()].some(({ pending }) => pending.length > 0)) this.#ping();
    this.#stand();
  }

  /** Works out what the reader should know of the connection. */
  #stand(): void {
    const kernel = standing(this.#wire.widget_manager);
    if (kernel === "cut") this.#wasCut = true;
    this.connection.value = this.#state(kernel);
  }

  #state(kernel: Standing): Connection {
    if (this.#isLost) return kernel === "cut" || kernel === undefined ? "gone" : "restarted";
    if (kernel === "cut") return "cut";
    if (this.#pulse.silent) return kernel === "busy" ? "busy" : "silent";
    if (this.hostId.peek() === undefined) return "connecting";
    return this.#visible && this.#isBehind() ? "behind" : "live";
  }

  #isBehind(): boolean {
    return Object.entries(this.#ahead).some(([uri, index]) => (this.#channels.get(uri)?.index ?? index) < index);
  }

  /** Brings a view of this client before the reader. */
  #show(): void {
    const elements = [...this.#views.values()].map((view) => view.element);
    elements.findLast((element) => element?.isConnected)?.scrollIntoView({ block: "nearest" });
  }

  notify(method: string, params: unknown): void {
    if (this.connection.peek() === "live") this.#notify(method, params);
  }

  #notify(method: string, params: unknown): void {
    this.#send({ jsonrpc: "2.0", v: this.#version, clientId: this.clientId, method, params });
  }

  #send(message: Outgoing): void {
    const before = this.#isLost;
    try {
      this.#wire.send(message);
      this.#isLost = false;
    } catch {
      this.#isLost = true; // the kernel that knew this widget has ended
    }
    if (before !== this.#isLost) this.#stand();
  }

  #log(text: string): void {
    if (this.#logged.has(text)) return;
    this.#logged.add(text);
    console.warn(`[agentnb] ${text}`);
  }
}

function wrongVersion(theirs: number): Refused {
  const help =
    theirs > WINDOW.current ? "Reload the page." : "Upgrade agentnb in the kernel's environment and restart it.";
  return new Refused({
    code: UNSUPPORTED_VERSION,
    message: `The kernel speaks version ${theirs} of agentnb's protocol, this page ${versions().join(", ")}. ${help}`,
  });
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function reducerOf(uri: string): Reduce<any> {
  if (uri === ROOT) return reduceRoot;
  return uri.endsWith("/chat") ? reduceChat : reduceSession;
}
