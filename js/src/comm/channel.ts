/**
 * One channel on the page: what the kernel has confirmed, and on top of it what this page has done and not heard back of.
 *
 * `shown = confirmed + pending`. With nothing pending, shown *is* confirmed: the same object.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Answer } from "../state/answers.ts";
import type { Action, ChatState, Envelope } from "../state/types.gen.ts";
import type { Older } from "../view/store.ts";

/** Actions on turns that have ended: they may be about one that was fetched. */
const LATE: ReadonlySet<string> = new Set(["x-agentnb/late", "x-agentnb/turnChanges"]);
const ALL: Older = { left: 0, turns: [] };

export type Reduce<S> = (state: S, action: Action) => S;

export interface Pending {
  readonly clientSeq: number;
  readonly action: Action;
}

/** What came of an envelope: applied, known before, a no, or it does not begin right behind what is known. */
export type Outcome = "applied" | "known" | "refused" | "hole";

export class ChannelStore<S> {
  readonly uri: string;
  index = 0;
  #reduce: Reduce<S>;
  #confirmed: S | undefined;
  #pending: Pending[] = [];
  #shown = signal<S | undefined>(undefined);
  #older = signal<Older>(ALL);
  #olderAt = 0;

  constructor(uri: string, reduce: Reduce<S>) {
    this.uri = uri;
    this.#reduce = reduce;
  }

  get shown(): ReadonlySignal<S | undefined> {
    return this.#shown;
  }

  /** A chat's turns before those in its state. */
  get older(): ReadonlySignal<Older> {
    return this.#older;
  }

  get confirmed(): S | undefined {
    return this.#confirmed;
  }

  get pending(): readonly Pending[] {
    return this.#pending;
  }

  /** Replaces everything by the kernel's word, which has `answered` in it. An older one than what is known is passed over. */
  restore(state: S, index: number, answered: readonly number[] = [], earlier = 0): void {
    for (const clientSeq of answered) this.settle(clientSeq);
    if (this.#confirmed === undefined || index >= this.index) {
      this.#confirmed = state;
      this.index = index;
      const { left, turns } = this.#older.peek();
      if (left + turns.length !== earlier) this.#older.value = earlier === 0 ? ALL : { left: earlier, turns: [] };
    }
    this.show();
  }

  /** Puts fetched turns before those known; `before` is the turn that they were asked for. */
  prepend(before: string | undefined, { turns, earlier, index }: Answer<"fetchTurns">): void {
    if (before !== this.first) return; // what is known has changed meanwhile
    const older = this.#older.peek();
    this.#olderAt = Math.max(this.#olderAt, index);
    this.#older.value = { left: earlier, turns: [...turns, ...older.turns] };
  }

  /** The id of the oldest turn known. */
  get first(): string | undefined {
    const chat = this.#confirmed as Partial<ChatState> | undefined;
    return (this.#older.peek().turns[0] ?? chat?.turns?.[0] ?? chat?.activeTurn)?.id;
  }

  /** Applies an envelope once; `show` must follow. */
  apply(envelope: Envelope, clientId: string): Outcome {
    if (envelope.origin?.clientId === clientId) this.settle(envelope.origin.clientSeq);
    if (envelope.rejectionReason != null) return envelope.repeated ? "known" : "refused";
    if (envelope.index <= this.index) return "known";
    // Merged deltas that begin before what is known cannot be taken apart: they are asked for again from here.
    if ((envelope.first ?? envelope.index) !== this.index + 1 || this.#confirmed === undefined) return "hole";
    this.#confirmed = this.#reduce(this.#confirmed, envelope.action);
    this.index = envelope.index;
    if (LATE.has(envelope.action.type) && envelope.index > this.#olderAt) this.#late(envelope.action);
    return "applied";
  }

  /** Something came late for a turn that was fetched. */
  #late(action: Action): void {
    const older = this.#older.peek();
    const before = { ...this.#confirmed, turns: older.turns } as S;
    const { turns } = this.#reduce(before, action) as unknown as ChatState;
    if (turns !== older.turns) this.#older.value = { ...older, turns };
  }

  /** Applies this page's own action at once, until the kernel answers. */
  push(pending: Pending): void {
    this.#pending.push(pending);
    this.show();
  }

  /** This page's own action with that number, if it was not answered yet. */
  pendingAs(clientSeq: number): Pending | undefined {
    return this.#pending.find((pending) => pending.clientSeq === clientSeq);
  }

  /** The kernel has answered: accepted or rejected, it is no longer ours. */
  settle(clientSeq: number): void {
    this.#pending = this.#pending.filter((pending) => pending.clientSeq !== clientSeq);
  }

  /** Forgets everything: another kernel speaks. */
  clear(): void {
    this.#confirmed = undefined;
    this.#pending = [];
    this.index = 0;
    this.#older.value = ALL;
    this.#shown.value = undefined;
  }

  show(): void {
    let shown = this.#confirmed;
    for (const { action } of this.#pending) if (shown !== undefined) shown = this.#reduce(shown, action);
    this.#shown.value = shown;
  }
}
