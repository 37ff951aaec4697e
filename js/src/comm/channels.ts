/**
 * All channels of a client: what the kernel says is put into the one that it is about, in one step for the views; what
 * it refuses, and what is missing, is kept for them to show.
 */
import { batch, signal } from "@preact/signals";
import { reduceChangeset, reduceChat, reduceRoot, reduceSession } from "../state/reduce.ts";
import type { ChannelSnapshot } from "../state/requests.gen.ts";
import type { Action, Envelope, RootState } from "../state/types.gen.ts";
import { isChanges, ROOT } from "../view/identity.ts";
import type { Refusal } from "../view/store.ts";
import { ChannelStore, type Reduce } from "./channel.ts";

export { ROOT };
/** Whose gap it is when a message was unreadable: it may have been about any channel. */
export const ANY = "";
const MOST_REFUSALS = 20;

const UNREADABLE = "The kernel sent something that this page cannot read, so parts may be missing. Reload the page.";

// biome-ignore lint/suspicious/noExplicitAny: a map of channels of different states
type AnyChannel = ChannelStore<any>;

/** Where the channels say what must be said to the kernel. */
interface Says {
  /** These are not where they should be: send what follows. */
  resync(seen: Record<string, number>): void;
  log(text: string): void;
}

export class Channels implements Iterable<AnyChannel> {
  readonly refusals = signal<readonly Refusal[]>([]);
  /** What is missing and why, by channel. */
  readonly gaps = signal<Readonly<Record<string, string>>>({});
  #all = new Map<string, AnyChannel>();
  #clientId: string;
  #says: Says;
  #nextRefusal = 1;
  #known = new Map<string, string>();

  constructor(clientId: string, says: Says) {
    this.#clientId = clientId;
    this.#says = says;
  }

  [Symbol.iterator](): Iterator<AnyChannel> {
    return this.#all.values();
  }

  of<S>(uri: string): ChannelStore<S> {
    const known = this.#all.get(uri);
    if (known) return known;
    const made: AnyChannel = new ChannelStore(uri, reducerOf(uri));
    this.#all.set(uri, made);
    return made;
  }

  has(uri: string): boolean {
    return this.#all.has(uri);
  }

  /** The kernel has yet to answer something that was done here. */
  get isUnanswered(): boolean {
    return [...this.#all.values()].some(({ pending }) => pending.length > 0);
  }

  /** How far each is. */
  get seen(): Record<string, number> {
    return Object.fromEntries([...this.#all].filter(([, c]) => c.index > 0).map(([uri, c]) => [uri, c.index]));
  }

  /** Whether the kernel is known to be further. */
  isBehind(ahead: Readonly<Record<string, number>>): boolean {
    return Object.entries(ahead).some(([uri, index]) => (this.#all.get(uri)?.index ?? index) < index);
  }

  /** The sessions that are open, as far as is known. */
  get sessions(): string[] {
    const root = this.of<RootState>(ROOT).confirmed;
    return (root?.sessions ?? []).map((session) => session.resource);
  }

  take(snapshots: readonly ChannelSnapshot[]): void {
    batch(() => {
      for (const { resource, state, fromSeq, answered, earlier, gap } of snapshots) {
        this.of(resource).restore(state, fromSeq, answered, earlier);
        this.#missing(resource, gap);
      }
    });
  }

  apply(envelopes: readonly Envelope[]): void {
    const touched = new Set<AnyChannel>();
    const holes: Record<string, number> = {};
    for (const envelope of envelopes) {
      const channel = this.of(envelope.channel);
      touched.add(channel);
      const own = envelope.origin?.clientId === this.#clientId && channel.pendingAs(envelope.origin.clientSeq);
      const outcome = channel.apply(envelope, this.#clientId);
      if (outcome === "hole") holes[envelope.channel] = channel.index;
      if (outcome === "refused" && own) this.#refuse(channel.uri, own.action, envelope.rejectionReason as string);
    }
    for (const channel of touched) channel.show();
    if (Object.keys(holes).length > 0) this.#says.resync(holes);
  }

  /** What the kernel said of this channel doesn't follow the protocol. */
  unreadableAt(uri: string): void {
    this.#says.log(`The kernel sent no snapshot of ${uri}.`);
    this.#missing(uri, UNREADABLE);
  }

  /** The kernel said something that is not of the protocol: asks once for everything anew. */
  unreadable(): void {
    if (ANY in this.gaps.peek()) return;
    this.#missing(ANY, UNREADABLE);
    this.#says.resync(Object.fromEntries(Object.keys(this.seen).map((uri) => [uri, 0])));
  }

  /** What was unreadable has been made good. */
  readable(): void {
    this.#missing(ANY, undefined);
  }

  /** The kernel has no such channel (any more). */
  closed(uri: string): void {
    if (isChanges(uri)) return this.#missing(uri, "The kernel no longer has these changes.");
    const had = this.of(uri).confirmed !== undefined;
    const shown = had ? "This is the last version received; its end may be missing." : "It cannot be shown.";
    this.#missing(uri, `This conversation is no longer open in the kernel. ${shown}`);
  }

  /** The reader has seen it. */
  accept(uri: string): void {
    const text = this.gaps.peek()[uri];
    if (text === undefined) return;
    this.#missing(uri, undefined);
    this.#known.set(uri, text);
  }

  dismiss(id: number): void {
    this.refusals.value = this.refusals.peek().filter((refusal) => refusal.id !== id);
  }

  /** Another kernel speaks: everything is forgotten, and what was not heard is given back. */
  clear(): void {
    this.giveBack();
    for (const channel of this.#all.values()) channel.clear();
    this.gaps.value = {};
    this.#known.clear();
  }

  /** The kernel is gone: what it has not heard is refused, so that a message is in its box again. */
  giveBack(): void {
    for (const channel of this.#all.values()) {
      const unheard = [...channel.pending];
      for (const { clientSeq, action } of unheard) {
        channel.settle(clientSeq);
        this.#refuse(channel.uri, action, "The kernel restarted before it received this.");
      }
      if (unheard.length > 0) channel.show();
    }
  }

  #refuse(channel: string, action: Action, reason: string): void {
    const refusal = { id: this.#nextRefusal++, channel, action, reason };
    this.refusals.value = [...this.refusals.peek(), refusal].slice(-MOST_REFUSALS);
  }

  #missing(uri: string, text: string | undefined): void {
    if (text !== undefined && this.#known.get(uri) === text) return;
    const { [uri]: before, ...others } = this.gaps.peek();
    if (before !== text) this.gaps.value = text === undefined ? others : { ...others, [uri]: text };
  }
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function reducerOf(uri: string): Reduce<any> {
  if (uri === ROOT) return reduceRoot;
  if (isChanges(uri)) return reduceChangeset;
  return uri.endsWith("/chat") ? reduceChat : reduceSession;
}
