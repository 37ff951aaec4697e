/** Introduces the page to the kernel and requests the channels that its views follow, until the kernel answers. */
import { batch, signal } from "@preact/signals";
import { isAnswer } from "../state/answers.ts";
import { WINDOW } from "../state/tables.gen.ts";
import { isChanges, ROOT, sessionChannel } from "../view/identity.ts";
import type { Channels } from "./channels.ts";
import type { Exchange } from "./exchange.ts";
import { type Initialized, Refused, speaks, UNKNOWN_SESSION, UNSUPPORTED_VERSION, versions } from "./exchange.ts";

interface Then {
  visible(): boolean;
  /** The kernel has answered, and its answer is applied to the channels. */
  introduced(result: Initialized): void;
  /** The kernel and this page cannot talk. */
  refused(why: string): void;
}

export class Handshake {
  /** The kernel that answered; undefined before the first. */
  readonly hostId = signal<string | undefined>(undefined);
  #exchange: Exchange;
  #channels: Channels;
  #then: Then;
  #initializing: number | undefined;
  /** True if the introduction told the kernel that a view is visible. */
  #saidVisible = false;
  #subscribed = new Set<string>([ROOT]);
  #unanswered = new Set<string>();
  #open = new Set<string>();
  #closed = new Set<string>();

  constructor(exchange: Exchange, channels: Channels, then: Then) {
    this.#exchange = exchange;
    this.#channels = channels;
    this.#then = then;
  }

  /** True if the page has introduced itself and has no answer yet. */
  get waits(): boolean {
    return this.#initializing !== undefined;
  }

  /** Introduces the page; only once, until the kernel answers or the next try is due. */
  initialize(): void {
    if (this.#initializing !== undefined) return;
    this.#initializing = this.#exchange.nextId;
    const hostId = this.hostId.peek();
    this.#saidVisible = this.#then.visible();
    const followed = [...this.#subscribed];
    const introduction = {
      protocolVersions: versions(),
      initialSubscriptions: followed,
      visible: this.#saidVisible,
      accepts: ["text"],
    };
    const answer =
      hostId === undefined
        ? this.#exchange.ask("initialize", introduction)
        : this.#exchange.ask("reconnect", { ...introduction, hostId, lastSeen: this.#channels.seen });
    // After a refusal, the page tries again.
    answer.then((result) => this.#initialized(result, followed)).catch((error: Error) => this.#refused(error));
  }

  /** Makes the kernel send this channel from now on. */
  follow(uri: string): void {
    if (this.#subscribed.has(uri)) return;
    this.#subscribed.add(uri);
    if (this.hostId.peek() !== undefined) this.#subscribe([uri]);
  }

  /** Repeats unanswered requests; returns true if there were any. */
  again(): boolean {
    if (this.#initializing !== undefined) {
      this.#exchange.abandon(this.#initializing, "The kernel has not answered yet.");
      this.#initializing = undefined;
      this.initialize();
      return true;
    }
    this.#subscribe([...this.#unanswered]);
    return this.#unanswered.size > 0;
  }

  /**
   * True if the kernel sends a visible page less than it follows: it takes the page for hidden, or has started again
   * with it. `sent` has the indexes of the channels that it sends.
   */
  isForgotten(sent: Readonly<Record<string, number>>): boolean {
    const open = new Set(this.#channels.sessions);
    const followed = [...this.#subscribed].filter((uri) => !isChanges(uri) && open.has(sessionChannel(uri)));
    const gaps = this.#channels.gaps.peek();
    return ROOT in sent && followed.some((uri) => !(uri in sent || uri in gaps || this.#unanswered.has(uri)));
  }

  /** Subscribes again to channels that were closed and are open again: the kernel does not report them by itself. */
  notice(): void {
    const open = new Set(this.#channels.sessions);
    for (const uri of this.#subscribed)
      if (this.#open.has(sessionChannel(uri)) && !open.has(sessionChannel(uri))) this.#closed.add(uri);
    this.#open = open;
    const back = [...this.#closed].filter((uri) => open.has(sessionChannel(uri)));
    for (const uri of back) this.#closed.delete(uri);
    this.#subscribe(back);
  }

  #subscribe(channels: readonly string[]): void {
    for (const channel of channels) {
      this.#unanswered.add(channel);
      this.#exchange
        .ask("subscribe", { channel })
        .then((result) => {
          this.#unanswered.delete(channel);
          if (isAnswer("subscribe", result)) this.#channels.take([result.snapshot]);
          else this.#channels.unreadableAt(channel);
        })
        .catch((error: Error) => this.#notSubscribed(channel, error));
    }
  }

  #notSubscribed(channel: string, error: Error): void {
    if (!(error instanceof Refused) || error.code !== UNKNOWN_SESSION) return this.#exchange.log(error.message);
    this.#unanswered.delete(channel);
    this.#missing([channel]);
  }

  #missing(channels: readonly string[]): void {
    for (const uri of channels) if (!this.#closed.has(uri)) this.#channels.closed(uri);
  }

  #refused(error: Error): void {
    if (error instanceof Refused && error.code === UNSUPPORTED_VERSION) this.#then.refused(error.message);
    this.#exchange.log(error.message);
  }

  #initialized(result: unknown, followed: readonly string[]): void {
    if (!isAnswer("initialize", result))
      return this.#exchange.log("The kernel's answer to initialize doesn't follow the protocol.");
    if (!speaks(result.protocolVersion)) return this.#refused(wrongVersion(result.protocolVersion));
    this.#exchange.version = result.protocolVersion;
    this.#initializing = undefined;
    const before = this.hostId.peek();
    const isNew = before !== undefined && before !== result.hostId;
    batch(() => {
      if (isNew) this.#channels.clear();
      this.hostId.value = result.hostId;
      this.#channels.take(result.snapshots);
      this.#channels.apply(result.actions ?? []);
      this.#missing(result.missing);
      for (const uri of followed) this.#unanswered.delete(uri);
      this.#then.introduced(result);
    });
    // A notification in between may have come first, over another kernel shell, which did not know the page then.
    const visible = this.#then.visible();
    if (visible !== this.#saidVisible) this.#exchange.notify("visibility", { visible });
    this.#subscribe([...this.#subscribed].filter((uri) => !followed.includes(uri)));
    if (!isNew) this.#sendPendingAgain();
  }

  /** Sends unanswered actions again; the kernel recognizes them by their numbers, so it applies each only once. */
  #sendPendingAgain(): void {
    for (const channel of this.#channels)
      for (const { clientSeq, action } of channel.pending)
        this.#exchange.notify("dispatchAction", { clientSeq, channel: channel.uri, action });
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
