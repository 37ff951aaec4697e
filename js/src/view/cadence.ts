/**
 * How often a view redraws: at once when it was quiet, else every `max(50 ms, 4 × the last redraw's cost)`.
 *
 * State may change thousands of times a second. A view reads *paced* copies of the signals; whatever a redraw
 * costs (script, style, layout, paint), it gets at most a fifth of the main thread. A view nobody sees follows
 * once a second.
 */
import { batch, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";

const SHORTEST = 50;
const UNSEEN = 1000;
const SHARE = 4;

interface Feed {
  source: ReadonlySignal<unknown>;
  copy: Signal<unknown>;
  stop: () => void;
}

export class Cadence {
  #feeds = new Map<ReadonlySignal<unknown>, Feed>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last = Number.NEGATIVE_INFINITY;
  #cost = 0;
  #visible = true;
  #disposed = false;

  /** The paced copy of `source`; the same copy for the same source. */
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
    if (visible && this.#timer !== undefined) this.#tick();
  }

  dispose(): void {
    this.#disposed = true;
    clearTimeout(this.#timer);
    for (const feed of this.#feeds.values()) feed.stop();
    this.#feeds.clear();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#disposed) return;
    const pause = Math.max(this.#visible ? SHORTEST : UNSEEN, SHARE * this.#cost);
    const wait = Math.max(0, this.#last + pause - performance.now());
    this.#timer = setTimeout(() => this.#tick(), wait);
  }

  #tick(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const start = performance.now();
    batch(() => {
      for (const feed of this.#feeds.values()) feed.copy.value = feed.source.peek();
    });
    // Preact draws in a microtask queued by the line above, so this one runs after it.
    queueMicrotask(() => this.#measure(start));
  }

  #measure(start: number): void {
    const drawn = performance.now();
    this.#last = drawn;
    this.#cost = drawn - start;
    if (typeof requestAnimationFrame !== "function" || !this.#visible) return;
    requestAnimationFrame((frame) => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        channel.port1.close();
        const now = performance.now();
        this.#last = now;
        this.#cost = drawn - start + Math.max(0, now - Math.max(frame, drawn));
      };
      channel.port2.postMessage(null);
    });
  }
}
