/**
 * The client: this page's copy of the widget model, and the store that every view of it draws from.
 *
 * There is one per page and model. It applies the kernel's messages by index (it drops known ones and requests missing
 * ones), acknowledges and shows them; it applies a view's action at once and sends it.
 */
import { batch, type ReadonlySignal, signal } from "@preact/signals";
import { notebookOf } from "../notebooks.ts";
import { type Answer, checked, isAnswer, type Params, type RequestName } from "../state/answers.ts";
import { isObject } from "../state/object.ts";
import type { Action, ChangesetState, ChatState, RootState, SessionState } from "../state/types.gen.ts";
import { isRemote, ROOT } from "../view/identity.ts";
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
} from "../view/store.ts";
import { Channels } from "./channels.ts";
import { Contents, changeText, pieces, RANGE } from "./contents.ts";
import { Exchange, type Initialized, isFlush, isPong, isText, type Wire } from "./exchange.ts";
import { Handshake } from "./handshake.ts";
import { Presence, Views } from "./presence.ts";
import { announceLive, onLive } from "./surroundings.ts";
import { Acknowledgements, ContinuedText } from "./text.ts";

export type { Wire } from "./exchange.ts";

/** The states in which notifications arrive: they are not kept. */
const CONNECTED: ReadonlySet<Connection> = new Set(["live", "gap"]);

export class Client implements Store {
  readonly sessionsChanged = signal<unknown>(undefined);
  readonly settingsChanged = signal<unknown>(undefined);
  readonly drafts = signal<Readonly<Record<string, string>>>({});
  readonly successor = signal<(() => void) | undefined>(undefined);
  readonly refusal = signal<string | undefined>(undefined);
  readonly ahead = signal(0);
  readonly clientId: string;
  readonly connection: ReadonlySignal<Connection>;
  readonly hostId: ReadonlySignal<string | undefined>;
  readonly refusals: ReadonlySignal<readonly Refusal[]>;
  readonly gaps: ReadonlySignal<Readonly<Record<string, string>>>;
  readonly root: ReadonlySignal<RootState | undefined>;
  #wire: Wire;
  #exchange: Exchange;
  #channels: Channels;
  #handshake: Handshake;
  #views: Views;
  #presence: Presence;
  #text = new ContinuedText();
  #acks = new Acknowledgements((flush) => this.#exchange.notify("ack", { flush, seen: this.#channels.seen }));
  #isClosed = false;
  #ends: (() => void)[] = [];
  #fetching = new Set<string>();
  #nextSeq = 1;
  #contents = new Contents();

  constructor(wire: Wire) {
    this.#wire = wire;
    this.#exchange = new Exchange(wire, {
      notified: (method, params) => this.#notified(method, params),
      changed: () => this.#presence.stand(),
    });
    this.#channels = new Channels(this.#exchange.clientId, {
      resync: (seen) => this.#exchange.notify("resync", { seen }),
      log: (text) => this.#exchange.log(text),
    });
    this.#views = new Views((visible) => this.#presence.seen(visible));
    this.#handshake = new Handshake(this.#exchange, this.#channels, {
      visible: () => this.#views.visible,
      introduced: (result) => this.#introduced(result),
      refused: (why) => {
        this.refusal.value = why;
      },
    });
    this.#presence = new Presence(this.#exchange, this.#channels, this.#handshake, this.#views, wire.widget_manager);
    this.clientId = this.#exchange.clientId;
    this.connection = this.#presence.connection;
    this.hostId = this.#handshake.hostId;
    this.refusals = this.#channels.refusals;
    this.gaps = this.#channels.gaps;
    this.root = this.#channels.of<RootState>(ROOT).state;
    this.#watch(wire.widget_manager);
    this.#handshake.initialize();
  }

  get notebook(): NotebookActions | undefined {
    const actions = notebookOf(this.#wire.widget_manager);
    if (!actions || !isRemote(this.root.peek())) return actions;
    // Cells and files that another host's agents name are not in this notebook.
    return {
      insertBelow: (...code) => actions.insertBelow(...code),
      replaceActive: (...code) => actions.replaceActive(...code),
      run: (...code) => actions.run(...code),
      ...(actions.drawDiagram && { drawDiagram: actions.drawDiagram }),
    };
  }

  get isUnsaid(): boolean {
    const words = /turnStarted|pendingMessageSet/;
    return [...this.#channels].some(({ pending }) => pending.some(({ action }) => words.test(action.type)));
  }

  session(channel: string): ReadonlySignal<SessionState | undefined> {
    this.#handshake.follow(channel);
    return this.#channels.of<SessionState>(channel).state;
  }

  chat(channel: string): ReadonlySignal<ChatState | undefined> {
    this.#handshake.follow(channel);
    return this.#channels.of<ChatState>(channel).state;
  }

  changeset(channel: string): ReadonlySignal<ChangesetState | undefined> {
    this.#handshake.follow(channel);
    return this.#channels.of<ChangesetState>(channel).state;
  }

  older(channel: string): ReadonlySignal<Older> {
    return this.#channels.of(channel).older;
  }

  async fetchOlder(uri: string, limit: number): Promise<void> {
    const channel = this.#channels.of(uri);
    if (channel.older.peek().left === 0 || this.#fetching.has(uri)) return;
    this.#fetching.add(uri);
    const before = channel.first;
    try {
      const result = await this.#exchange.ask("fetchTurns", { channel: uri, before, limit });
      if (isAnswer("fetchTurns", result)) channel.prepend(before, result);
      else this.#exchange.log("The kernel's answer to fetchTurns doesn't follow the protocol.");
    } finally {
      this.#fetching.delete(uri);
    }
  }

  content(channel: string, ref: ContentRef): Promise<string> {
    const of = { channel, uri: ref.uri, length: RANGE };
    return this.#contents.get(ref, (offset) => this.#range("fetchContent", { ...of, offset }));
  }

  async file(channel: string, path: string): Promise<Blob> {
    return new Blob(await pieces((offset) => this.#range("readFile", { channel, path, offset })));
  }

  change(channel: string, id: string, side: Side): Promise<ChangeText> {
    const of = { channel, id, side, length: RANGE };
    return changeText((first) => this.#range("readChange", { ...of, first }));
  }

  readonly module = async (name: string): Promise<{ default: unknown }> => {
    const { bytes } = await this.#range("fetchModule", { name });
    const url = URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));
    return import(url).finally(() => URL.revokeObjectURL(url));
  };

  async #range<M extends RequestName>(method: M, params: Params<M>) {
    const result = await this.#exchange.ask(method, params);
    const [coded] = (result as { _buffers?: unknown[] } | undefined)?._buffers ?? [];
    if (!isAnswer(method, result) || typeof coded !== "string")
      throw new Error(`The kernel's answer to ${method} doesn't follow the protocol.`);
    return { ...result, bytes: Uint8Array.from(atob(coded), (letter) => letter.charCodeAt(0)) };
  }

  dispatch(uri: string, action: Action): void {
    const clientSeq = this.#nextSeq++;
    this.#channels.of(uri).push({ clientSeq, action });
    this.#exchange.notify("dispatchAction", { clientSeq, channel: uri, action });
  }

  async request<M extends RequestName>(method: M, params: Params<M>): Promise<Answer<M>> {
    return checked(method, await this.#exchange.ask(method, params));
  }

  notify(method: string, params: unknown): void {
    if (method === "draft") this.#drafted(params); // the latest draft counts, from any window
    if (CONNECTED.has(this.connection.peek())) this.#exchange.notify(method, params);
  }

  dismiss(id: number): void {
    this.#channels.dismiss(id);
  }

  acceptGap(uri: string): void {
    this.#channels.accept(uri);
  }

  view(viewId: string, element?: Element): ViewLink {
    return this.#views.open(viewId, element);
  }

  dispose(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#channels.giveBack();
    this.#exchange.notify("leave", {});
    for (const end of this.#ends) end();
    this.#acks.forget();
    this.#exchange.dispose();
    this.#presence.end();
  }

  #drafted(params: unknown): void {
    if (!isObject(params) || typeof params.channel !== "string") return;
    this.drafts.value = { ...this.drafts.peek(), [params.channel]: String(params.text ?? "") };
  }

  #watch(manager: Wire["widget_manager"]): void {
    const leave = (): void => this.#exchange.notify("leave", {});
    const back = ({ persisted }: PageTransitionEvent): void => void (persisted && this.#presence.ping());
    window.addEventListener("pagehide", leave);
    window.addEventListener("pageshow", back);
    this.#ends.push(
      () => window.removeEventListener("pagehide", leave),
      () => window.removeEventListener("pageshow", back),
      onLive(manager, (show) => {
        if (this.#exchange.isLost) this.successor.value = show;
      }),
    );
  }

  // --- what the kernel says ---

  #introduced(result: Initialized): void {
    this.#text.forget();
    this.#acks.forget();
    this.#presence.answered();
    this.refusal.value = undefined;
    if (result.time !== undefined) this.ahead.value = result.time - Date.now();
    if (result.drafts) this.drafts.value = result.drafts;
    this.#handshake.notice();
    this.#presence.stand();
    if (isRemote(this.root.peek())) return; // it takes no other chat's place
    announceLive({ manager: this.#wire.widget_manager, show: () => this.#views.show() });
  }

  #notified(method: string, params: unknown): void {
    if (method === "actions") this.#flush(params);
    else if (method === "text") this.#continue(params);
    else if (method === "unknownClient") {
      this.#presence.answered();
      this.#handshake.initialize();
    } else if (method === "draft") this.#drafted(params);
    else if (method === "sessionsChanged") this.sessionsChanged.value = params;
    else if (method === "settingsChanged") this.settingsChanged.value = params;
    else if (method === "pong" && isPong(params)) this.#presence.pong(params);
    else this.#misunderstood(method);
  }

  #misunderstood(method: string): void {
    this.#exchange.log(`The kernel sent ${JSON.stringify(method)}, which this page does not understand.`);
  }

  #flush(flush: unknown): void {
    if (this.#handshake.waits) return; // it may come from a kernel that is still unknown; it comes again
    if (isFlush(flush)) {
      batch(() => {
        this.#channels.take(flush.snapshots ?? []);
        this.#channels.apply(flush.envelopes);
      });
      this.#text.remember(flush);
      this.#acks.taken(flush.flush);
      this.#handshake.notice();
      this.#presence.caughtUp();
    } else this.#unreadable("actions");
    this.#presence.stand();
  }

  #continue(text: unknown): void {
    if (this.#handshake.waits) return;
    if (!isText(text)) return this.#unreadable("text");
    const envelope = this.#text.envelope(text);
    if (envelope) {
      this.#channels.apply([envelope]);
      this.#acks.textTaken(text[0]);
    } else this.#exchange.notify("resync", { seen: this.#channels.seen });
    this.#presence.caughtUp();
    this.#presence.stand();
  }

  #unreadable(method: string): void {
    this.#misunderstood(method);
    this.#channels.unreadable();
    this.#presence.ping();
  }
}
