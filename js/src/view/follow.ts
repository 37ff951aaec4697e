/**
 * Whether a scrolling box keeps to its end.
 *
 * Heights change by themselves (`content-visibility`), text that comes scrolls the box, and the browser scrolls smoothly
 * or only after its events: so where the box stands says nothing of what the reader wants. Only intents do. One that
 * leads up lets go of the end at once, before the browser has moved anything; only one that leads down, and arrives,
 * takes hold again. Scrolls of ours are known by the place that they went to.
 */

/** Where the reader wants to go; `free`: wherever the scrollbar or a finger is moved to. */
export type Intent = "up" | "down" | "free";

const NEAR_END = 8;
const ASKING = ".permission:hover";

type Box = Pick<HTMLElement, "scrollTop" | "scrollHeight" | "clientHeight" | "querySelector">;

export class Follower {
  readonly #box: Box;
  readonly #changed: (pinned: boolean) => void;
  #pinned: boolean;
  #intent: Intent | undefined;
  #last: number;
  #ours: number | undefined;
  /** How often the reader has wanted to go somewhere. */
  wishes = 0;

  constructor(box: Box, pinned: boolean, changed: (pinned: boolean) => void) {
    this.#box = box;
    this.#pinned = pinned;
    this.#changed = changed;
    this.#last = box.scrollTop;
  }

  get pinned(): boolean {
    return this.#pinned;
  }

  /** Goes to the end, where that is held; not while the pointer is on a question: nothing moves under it. */
  follow(): void {
    if (this.#pinned && !this.#box.querySelector(ASKING)) this.moves(() => this.#toEnd());
  }

  /** Scrolls for the programme: what the browser says of it later is not the reader's doing. */
  moves(scroll: () => void): void {
    scroll();
    this.#last = this.#box.scrollTop;
    this.#ours = this.#last;
  }

  intends(intent: Intent): void {
    this.#intent = intent;
    this.wishes += 1;
    const canLeave = this.#box.scrollTop > 0 && this.#box.scrollHeight > this.#box.clientHeight;
    if (intent !== "down" && canLeave) this.release();
  }

  hold(): void {
    this.#intent = undefined;
    this.#set(true);
    this.follow();
  }

  release(): void {
    this.#set(false);
  }

  /** The box was scrolled; returns whether by the reader, to a place that is worth keeping. */
  scrolled(): boolean {
    const { scrollTop, scrollHeight, clientHeight } = this.#box;
    const isOurs = scrollTop === this.#ours;
    const isDown = scrollTop > this.#last;
    this.#last = scrollTop;
    if (isOurs || this.#pinned || this.#intent === undefined) return false;
    this.#ours = undefined;
    const arrived = scrollHeight - scrollTop - clientHeight <= NEAR_END;
    if (arrived && (this.#intent === "down" || (this.#intent === "free" && isDown))) {
      this.#set(true);
      return false;
    }
    return true;
  }

  #toEnd(): void {
    this.#box.scrollTop = this.#box.scrollHeight;
  }

  #set(pinned: boolean): void {
    if (this.#pinned === pinned) return;
    this.#pinned = pinned;
    this.#changed(pinned);
  }
}
