/**
 * One channel on the page: what the kernel has confirmed, and on top of it what this page has done and not heard back of.
 *
 * `shown = confirmed + pending`. With nothing pending, shown *is* confirmed: the same object.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Action, Envelope } from "../state/types.gen.ts";

export type Reduce<S> = (state: S, action: Action) => S;

export interface Pending {
  readonly clientSeq: number;
  readonly action: Action;
}

/** What came of an envelope: applied, known before, or it does not begin right behind what is known. */
export type Outcome = "applied" | "known" | "hole";

export class ChannelStore<S> {
  readonly uri: string;
  index = 0;
  #reduce: Reduce<S>;
  #confirmed: S | undefined;
  #pending: Pending[] = [];
  #shown = signal<S | undefined>(undefined);

  constructor(uri: string, reduce: Reduce<S>) {
    this.uri = uri;
    this.#reduce = reduce;
  }

  get shown(): ReadonlySignal<S | undefined> {
    return this.#shown;
  }

  get confirmed(): S | undefined {
    return this.#confirmed;
  }

  get pending(): readonly Pending[] {
    return this.#pending;
  }

  /** Replaces everything by the kernel's word, which has `answered` in it. An older one than what is known is passed over. */
  restore(state: S, index: number, answered: readonly number[] = []): void {
    for (const clientSeq of answered) this.settle(clientSeq);
    if (this.#confirmed === undefined || index >= this.index) {
      this.#confirmed = state;
      this.index = index;
    }
    this.show();
  }

  /** Applies an envelope once; `show` must follow. */
  apply(envelope: Envelope, clientId: string): Outcome {
    if (envelope.origin?.clientId === clientId) this.settle(envelope.origin.clientSeq);
    if (envelope.rejectionReason != null) return "known";
    if (envelope.index <= this.index) return "known";
    // Merged deltas that begin before what is known cannot be taken apart: they are asked for again from here.
    if ((envelope.first ?? envelope.index) !== this.index + 1 || this.#confirmed === undefined) return "hole";
    this.#confirmed = this.#reduce(this.#confirmed, envelope.action);
    this.index = envelope.index;
    return "applied";
  }

  /** Applies this page's own action at once, until the kernel answers. */
  push(pending: Pending): void {
    this.#pending.push(pending);
    this.show();
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
    this.#shown.value = undefined;
  }

  show(): void {
    let shown = this.#confirmed;
    for (const { action } of this.#pending) if (shown !== undefined) shown = this.#reduce(shown, action);
    this.#shown.value = shown;
  }
}
