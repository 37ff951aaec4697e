/** Introduces the page to the kernel and asks for the channels that its views follow, again until it is answered. */
import { batch, signal } from "@preact/signals";
import { isAnswer } from "../state/answers.ts";
import { WINDOW } from "../state/tables.gen.ts";
import { isChanges, sessionChannel } from "../view/identity.ts";
import { type Channels, ROOT } from "./channels.ts";
import type { Exchange } from "./exchange.ts";
import { type Initialized, Refused, speaks, UNKNOWN_SESSION, UNSUPPORTED_VERSION, versions } from "./exchange.ts";

interface Then {
  /** Whether the page can be seen. */
  visible(): boolean;
  /** The kernel has answered, and its channels are as it says. */
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
  /** Whether the kernel was told then that a view can be seen. */
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

  /** The page has introduced itself and was not answered. */
  get waits(): boolean {
    return this.#initializing !== undefined;
  }

  /** Introduces the page; once, until the kernel answers or the next try is due. */
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
    // What is refused is tried again.
    answer.then((result) => this.#initialized(result, followed)).catch((error: Error) => this.#refused(error));
  }

  /** Has the kernel send this channel, from now on. */
  follow(uri: string): void {
    if (this.#subscribed.has(uri)) return;
    this.#subscribed.add(uri);
    if (this.hostId.peek() !== undefined) this.#subscribe([uri]);
  }

  /** Asks again for what was not answered; says whether there was something. */
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
   * Whether the kernel sends a page in sight less than it follows: it takes the page for hidden, or has begun anew with it.
   * `sent` has what it sends, by channel.
   */
  isForgotten(sent: Readonly<Record<string, number>>): boolean {
    const open = new Set(this.#channels.sessions);
    const followed = [...this.#subscribed].filter((uri) => !isChanges(uri) && open.has(sessionChannel(uri)));
    const gaps = this.#channels.gaps.peek();
    return ROOT in sent && followed.some((uri) => !(uri in sent || uri in gaps || this.#unanswered.has(uri)));
  }

  /** Follows anew what was closed and is open again: the kernel says nothing of it by itself. */
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
    // What was said of it meanwhile may have come to the kernel first, over another of its shells: it knew no such page then.
    const visible = this.#then.visible();
    if (visible !== this.#saidVisible) this.#exchange.notify("visibility", { visible });
    this.#subscribe([...this.#subscribed].filter((uri) => !followed.includes(uri)));
    if (!isNew) this.#sendPendingAgain();
  }

  /** Actions that the kernel has not answered: it knows them by their numbers, so twice is as good as once. */
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
