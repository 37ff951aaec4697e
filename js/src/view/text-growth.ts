/**
 * Tracks text that grows while the user sees it. Growing text shows that the agent works, so marks that only move to
 * show this rest meanwhile: while one of them moves, the page recomputes its styles each frame.
 */

/** In milliseconds: after a longer pause the user wonders if the agent still works. */
const PAUSE = 700;
const CLASS = "text-grows";

export class TextGrowth {
  readonly #body: Element;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last = 0;
  #isInSight = true;

  /** `body` has the class `text-grows` while text grows in it. */
  constructor(body: Element) {
    this.#body = body;
  }

  /** Notes that text has grown; draws nothing by itself. */
  grew(): void {
    if (!this.#isInSight) return;
    this.#last = performance.now();
    if (this.#timer !== undefined) return;
    this.#body.classList.add(CLASS);
    this.#timer = setTimeout(() => this.#look(), PAUSE);
  }

  /** Notes whether the user sees the end of the text, where it grows. */
  inSight(isInSight: boolean): void {
    this.#isInSight = isInSight;
    if (!isInSight) this.end();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#body.classList.remove(CLASS);
  }

  #look(): void {
    const left = this.#last + PAUSE - performance.now();
    if (left > 0) this.#timer = setTimeout(() => this.#look(), left);
    else this.end();
  }
}
