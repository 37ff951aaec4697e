/**
 * Sets how often a view redraws: each frame while a redraw is cheap, else every `4 × the last redraw's cost`.
 *
 * State may change thousands of times a second. A view reads *paced* copies of the signals. A costly redraw (script,
 * style, layout, paint) gets at most a fifth of the main thread. A hidden view redraws once a second.
 */
import { batch, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";

/** In milliseconds: a screen's frame. Nobody would see more frequent redraws. */
const SHORTEST = 16;
const UNSEEN = 1000;
const SHARE = 4;
/** In milliseconds: after a redraw that takes at most this long, the next frame may redraw. */
const CHEAP = 8;
/**
 * A redraw counts as costly after this many costly ones in a row: another tab or the browser may have delayed one of
 * them.
 */
const RECENT = 3;
/** In milliseconds: how often the browser's part of cheap redraws is measured. */
const LOOK = 250;

interface Feed {
  source: ReadonlySignal<unknown>;
  copy: Signal<unknown>;
  stop: () => void;
}

export class Cadence {
  #feeds = new Map<ReadonlySignal<unknown>, Feed>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waits = false;
  #last = Number.NEGATIVE_INFINITY;
  #costs = [0];
  /** The browser's part of the last redraw that was measured, and the time of that measurement. */
  #frame = 0;
  #looked = Number.NEGATIVE_INFINITY;
  #visible = true;
  #disposed = false;

  /** Returns the paced copy of `source`; always the same copy for the same source. */
  paced<T>(source: ReadonlySignal<T>): ReadonlySignal<T> {
    const known = this.#feeds.get(source);
    if (known) return known.copy as Signal<T>;
    const copy = signal<unknown>(source.peek());
    const stop = effect(() => {
      if (source.value !== copy.peek()) this.#schedule();
    });
    this.#feeds.set(source, { source, copy, stop });
    return copy as Signal<T>;
  }

  setVisible(visible: boolean): void {
    if (visible === this.#visible) return;
    this.#visible = visible;
    if (visible) this.#tick();
  }

  dispose(): void {
    this.#disposed = true;
    clearTimeout(this.#timer);
    for (const feed of this.#feeds.values()) feed.stop();
    this.#feeds.clear();
  }

  #schedule(): void {
    if (this.#waits || this.#disposed) return;
    this.#waits = true;
    const cost = Math.min(...this.#costs);
    const pause = Math.max(this.#visible ? SHORTEST : UNSEEN, cost > CHEAP ? SHARE * cost : 0);
    const wait = this.#last + pause - performance.now();
    if (wait > 0) this.#timer = setTimeout(() => this.#tick(), wait);
    else queueMicrotask(() => this.#tick()); // in this task: a timer may fire after the next frame
  }

  #tick(): void {
    if (!this.#waits || this.#disposed) return;
    clearTimeout(this.#timer);
    this.#waits = false;
    const start = performance.now();
    batch(() => {
      for (const feed of this.#feeds.values()) feed.copy.value = feed.source.peek();
    });
    // Preact draws in a microtask that the batch above queues, so this one runs after it.
    queueMicrotask(() => this.#measure(start));
  }

  #measure(start: number): void {
    const drawn = performance.now();
    this.#last = drawn;
    const cost = drawn - start + this.#frame;
    const isKnown = cost < CHEAP / 2 && drawn - this.#looked < LOOK;
    this.#costs = [...this.#costs.slice(1 - RECENT), isKnown ? cost : drawn - start];
    if (isKnown || typeof requestAnimationFrame !== "function" || !this.#visible) return;
    this.#looked = drawn;
    requestAnimationFrame((frame) => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        channel.port1.close();
        const now = performance.now();
        this.#last = now;
        this.#frame = Math.max(0, now - Math.max(frame, drawn));
        this.#costs[this.#costs.length - 1] = drawn - start + this.#frame;
      };
      channel.port2.postMessage(null);
    });
  }
}
