/**
 * A view's memory: its tab, positions and folds. A view has no name that outlives a reload, so its key is what it shows
 * and its place among the views that show the same.
 */

import { store as keep, stored } from "./storage";
import { perStore, type Store, type What } from "./store";

const SAVE_AFTER = 300;
const MOST = 400;
const LASTING = /^(?:active tab|fold |scroll |shown |thought )/;

export class Memory extends Map<string, unknown> {
  #key: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Saves it under `key` from now on, and adds the values that are already saved there. */
  keptUnder(key: string): void {
    if (key === this.#key) return;
    this.flush();
    this.#key = key;
    for (const [name, value] of stored<[string, unknown][]>(key) ?? []) if (!this.has(name)) super.set(name, value);
  }

  override set(name: string, value: unknown): this {
    super.set(name, value);
    return this.#later();
  }

  override delete(name: string): boolean {
    this.#later();
    return super.delete(name);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#key === undefined) return;
    const lasting = [...this].filter(([name, value]) => LASTING.test(name) && value !== undefined);
    keep(this.#key, lasting.slice(-MOST));
  }

  #later(): this {
    if (this.#key !== undefined) this.#timer ??= setTimeout(() => this.flush(), SAVE_AFTER);
    return this;
  }
}

const placesOf = perStore(() => new Map<string, Set<number>>());

/** Takes a place among the views of `store` that show the same: the lowest free number. */
export function takePlace(store: Store, what: What): { name: string; leave(): void } {
  const kind = JSON.stringify(what);
  const taken = placesOf(store).get(kind) ?? new Set<number>();
  placesOf(store).set(kind, taken);
  let place = 0;
  while (taken.has(place)) place += 1;
  taken.add(place);
  return { name: `${kind} ${place}`, leave: () => void taken.delete(place) };
}
