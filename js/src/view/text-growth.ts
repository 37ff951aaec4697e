/**
 * Whether text grows before the reader's eyes. That shows that the agent works, so that marks which only move to show it
 * rest meanwhile: as long as one of them moves, the page computes its styles anew with each frame.
 */

/** In milliseconds: a longer pause is one in which the reader asks themselves whether the agent still works. */
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

  /** Text has grown; draws nothing by itself. */
  grew(): void {
    if (!this.#isInSight) return;
    this.#last = performance.now();
    if (this.#timer !== undefined) return;
    this.#body.classList.add(CLASS);
    this.#timer = setTimeout(() => this.#look(), PAUSE);
  }

  /** Whether the reader sees the end of the text, where it grows. */
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
