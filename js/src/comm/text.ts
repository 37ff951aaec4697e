/** Flushes that only continue a text (`text`): expands them, and acknowledges them together. */
import type { ActionsParams } from "../state/requests.gen.ts";
import type { Action, Envelope } from "../state/types.gen.ts";
import type { Text } from "./exchange.ts";

const ACK_MS = 1_000;
const DELTA = /^chat\/(delta|reasoning)$/;

/** Remembers the last whole flush that ended with a delta: later ones of the same text refer to it by its number. */
export class ContinuedText {
  #flush = 0;
  #last: Envelope | undefined;

  forget(): void {
    this.#flush = 0;
  }

  remember({ flush, envelopes }: ActionsParams): void {
    const last = envelopes.at(-1);
    if (!last || flush <= this.#flush || !DELTA.test(last.action.type)) return;
    this.#flush = flush;
    this.#last = last;
  }

  /** Returns the envelope that `text` stands for; undefined if the flush with the names has not arrived. */
  envelope([, like, first, index, content, time]: Text): Envelope | undefined {
    if (like !== this.#flush || !this.#last) return undefined;
    const { type, turnId, partId } = this.#last.action as Action & { type: "chat/delta" };
    const action = { type, turnId, partId, content, ...(time === undefined ? {} : { time }) };
    return { channel: this.#last.channel, first, index, action } as Envelope;
  }
}

/** Acknowledges flushes: at once, or a little later for all texts that arrive meanwhile. */
export class Acknowledgements {
  #say: (flush: number) => void;
  #flush = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #since = 0;

  constructor(say: (flush: number) => void) {
    this.#say = say;
  }

  forget(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flush = 0;
  }

  taken(flush: number): void {
    const latest = Math.max(flush, this.#flush);
    this.forget();
    this.#say(latest);
  }

  textTaken(flush: number): void {
    this.#flush = Math.max(flush, this.#flush);
    if (this.#timer === undefined) {
      this.#since = performance.now();
      this.#timer = setTimeout(() => this.taken(this.#flush), ACK_MS);
    } else if (performance.now() - this.#since > 2 * ACK_MS) this.taken(this.#flush); // timers of hidden pages are late
  }
}
