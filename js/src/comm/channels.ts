/**
 * All channels of a client: applies the kernel's messages to their channels, in one step for the views; keeps refusals
 * and gaps for the views to show.
 */
import { batch, signal } from "@preact/signals";
import type { Answer } from "../state/answers.ts";
import { reduceChangeset, reduceChat, reduceRoot, reduceSession } from "../state/reduce.ts";
import type { ChannelSnapshot } from "../state/requests.gen.ts";
import type { Action, ChatState, Envelope, RootState } from "../state/types.gen.ts";
import { isChanges, ROOT } from "../view/identity.ts";
import type { Older, Refusal } from "../view/store.ts";

/** The channel of a gap after an unreadable message, which may have been about any channel. */
const ANY = "";
const MOST_REFUSALS = 20;

const UNREADABLE = "The kernel sent something that this page cannot read, so parts may be missing. Reload the page.";

// biome-ignore lint/suspicious/noExplicitAny: a map of channels of different states
type AnyChannel = ChannelStore<any>;

interface ChannelReports {
  /** These channels have a hole: asks the kernel to send what follows. */
  resync(seen: Record<string, number>): void;
  log(text: string): void;
}

export class Channels implements Iterable<AnyChannel> {
  readonly refusals = signal<readonly Refusal[]>([]);
  /** The reasons for missing content, by channel. */
  readonly gaps = signal<Readonly<Record<string, string>>>({});
  #all = new Map<string, AnyChannel>();
  #clientId: string;
  #says: ChannelReports;
  #nextRefusal = 1;
  #known = new Map<string, string>();

  constructor(clientId: string, says: ChannelReports) {
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

  /** True if the kernel has yet to answer an action of this page. */
  get isUnanswered(): boolean {
    return [...this.#all.values()].some(({ pending }) => pending.length > 0);
  }

  /** The index that each channel has reached. */
  get seen(): Record<string, number> {
    return Object.fromEntries([...this.#all].filter(([, c]) => c.index > 0).map(([uri, c]) => [uri, c.index]));
  }

  /** True if the kernel is known to be further. */
  isBehind(ahead: Readonly<Record<string, number>>): boolean {
    return Object.entries(ahead).some(([uri, index]) => (this.#all.get(uri)?.index ?? index) < index);
  }

  /** The known open sessions. */
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

  /** Marks a channel whose snapshot doesn't follow the protocol. */
  unreadableAt(uri: string): void {
    this.#says.log(`The kernel sent no snapshot of ${uri}.`);
    this.#missing(uri, UNREADABLE);
  }

  /** The kernel sent something that doesn't follow the protocol: asks once for everything again. */
  unreadable(): void {
    if (ANY in this.gaps.peek()) return;
    this.#missing(ANY, UNREADABLE);
    this.#says.resync(Object.fromEntries(Object.keys(this.seen).map((uri) => [uri, 0])));
  }

  /** Ends the gap of an unreadable message: everything has arrived. */
  readable(): void {
    this.#missing(ANY, undefined);
  }

  /** The kernel has no such channel (any more). */
  closed(uri: string): void {
    if (isChanges(uri)) return this.#missing(uri, "The kernel no longer has these changes.");
    const had = this.of(uri).confirmed !== undefined;
    const explanation = had ? "This is the last version received; its end may be missing." : "It cannot be shown.";
    this.#missing(uri, `This conversation is no longer open in the kernel. ${explanation}`);
  }

  /** The user has seen the gap. */
  accept(uri: string): void {
    const text = this.gaps.peek()[uri];
    if (text === undefined) return;
    this.#missing(uri, undefined);
    this.#known.set(uri, text);
  }

  dismiss(id: number): void {
    this.refusals.value = this.refusals.peek().filter((refusal) => refusal.id !== id);
  }

  /** Another kernel answers: forgets everything, and gives back what the last one had not received. */
  clear(): void {
    this.giveBack();
    for (const channel of this.#all.values()) channel.clear();
    this.gaps.value = {};
    this.#known.clear();
  }

  /** The kernel is gone: refuses what it had not received, so that a message is in its box again. */
  giveBack(): void {
    for (const channel of this.#all.values()) {
      const unheard = channel.pending;
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

/** Actions on turns that have ended: such a turn may be one that was fetched. */
const LATE: ReadonlySet<string> = new Set(["x-agentnb/late", "x-agentnb/turnChanges"]);
const ALL: Older = { left: 0, turns: [] };

export type Reduce<S> = (state: S, action: Action) => S;

interface Pending {
  readonly clientSeq: number;
  readonly action: Action;
}

/** The result of an envelope: applied, known before, refused, or not directly after the last known one. */
export type Outcome = "applied" | "known" | "refused" | "hole";

/**
 * One channel on the page: the state that the kernel has confirmed, and on top of it this page's unanswered actions.
 *
 * `state = confirmed + pending`. With nothing pending, state *is* confirmed: the same object.
 */
export class ChannelStore<S> {
  readonly uri: string;
  index = 0;
  confirmed: S | undefined;
  pending: readonly Pending[] = [];
  readonly state = signal<S | undefined>(undefined);
  /** A chat's turns before those in its state. */
  readonly older = signal<Older>(ALL);
  #reduce: Reduce<S>;
  #olderAt = 0;

  constructor(uri: string, reduce: Reduce<S>) {
    this.uri = uri;
    this.#reduce = reduce;
  }

  /** Replaces everything by the kernel's state, which includes `answered`. Ignores a state older than the known one. */
  restore(state: S, index: number, answered: readonly number[] = [], earlier = 0): void {
    for (const clientSeq of answered) this.settle(clientSeq);
    if (this.confirmed === undefined || index >= this.index) {
      this.confirmed = state;
      this.index = index;
      const { left, turns } = this.older.peek();
      if (left + turns.length !== earlier) this.older.value = earlier === 0 ? ALL : { left: earlier, turns: [] };
    }
    this.show();
  }

  /** Puts fetched turns before the known ones; `before` is the turn that they were requested for. */
  prepend(before: string | undefined, { turns, earlier, index }: Answer<"fetchTurns">): void {
    if (before !== this.first) return; // the known turns have changed meanwhile
    const older = this.older.peek();
    this.#olderAt = Math.max(this.#olderAt, index);
    this.older.value = { left: earlier, turns: [...turns, ...older.turns] };
  }

  /** The id of the oldest turn known. */
  get first(): string | undefined {
    const chat = this.confirmed as Partial<ChatState> | undefined;
    return (this.older.peek().turns[0] ?? chat?.turns?.[0] ?? chat?.activeTurn)?.id;
  }

  /** Applies an envelope once; `show` must follow. */
  apply(envelope: Envelope, clientId: string): Outcome {
    if (envelope.origin?.clientId === clientId) this.settle(envelope.origin.clientSeq);
    if (envelope.rejectionReason != null) return envelope.repeated ? "known" : "refused";
    if (envelope.index <= this.index) return "known";
    // Merged deltas that begin before the last known index cannot be split: they are requested again from here.
    if ((envelope.first ?? envelope.index) !== this.index + 1 || this.confirmed === undefined) return "hole";
    this.confirmed = this.#reduce(this.confirmed, envelope.action);
    this.index = envelope.index;
    if (LATE.has(envelope.action.type) && envelope.index > this.#olderAt) this.#late(envelope.action);
    return "applied";
  }

  /** Applies a late action to a turn that was fetched. */
  #late(action: Action): void {
    const older = this.older.peek();
    const before = { ...this.confirmed, turns: older.turns } as S;
    const { turns } = this.#reduce(before, action) as unknown as ChatState;
    if (turns !== older.turns) this.older.value = { ...older, turns };
  }

  /** Applies this page's own action at once, until the kernel answers. */
  push(pending: Pending): void {
    this.pending = [...this.pending, pending];
    this.show();
  }

  /** Returns this page's own action with that number, if it is unanswered. */
  pendingAs(clientSeq: number): Pending | undefined {
    return this.pending.find((pending) => pending.clientSeq === clientSeq);
  }

  /** The kernel has accepted or rejected an action: it is no longer pending. */
  settle(clientSeq: number): void {
    this.pending = this.pending.filter((pending) => pending.clientSeq !== clientSeq);
  }

  /** Forgets everything: another kernel answers. */
  clear(): void {
    this.confirmed = undefined;
    this.pending = [];
    this.index = 0;
    this.older.value = ALL;
    this.state.value = undefined;
  }

  show(): void {
    let state = this.confirmed;
    for (const { action } of this.pending) if (state !== undefined) state = this.#reduce(state, action);
    this.state.value = state;
  }
}
