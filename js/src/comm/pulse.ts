/**
 * Checks whether the kernel answers. Timeouts count ticks of the page's own timer, so sleep does not expire them.
 */
const SILENT = 2;
const SELDOM = 8;

export class Pulse {
  #beats: number | undefined;

  /** Something was asked and has not been answered. */
  get waits(): boolean {
    return this.#beats !== undefined;
  }

  /** It has not been answered for so long that the reader should know. */
  get silent(): boolean {
    return this.waits && (this.#beats as number) >= SILENT;
  }

  get beats(): number {
    return this.#beats ?? 0;
  }

  asked(): void {
    this.#beats ??= 0;
  }

  /** Says whether the kernel had been silent. */
  answered(): boolean {
    const before = this.silent;
    this.#beats = undefined;
    return before;
  }

  /** Something came, though nothing was answered: what was asked may be lost, so it is asked again at the next beat. */
  heard(): void {
    if (this.silent) this.#beats = SILENT + 1;
  }

  /** One beat more without an answer; says whether to ask again: at first soon, later seldom. */
  beat(): boolean {
    this.#beats = (this.#beats ?? 0) + 1;
    return this.#beats < SELDOM ? (this.#beats & (this.#beats - 1)) === 0 : this.#beats % SELDOM === 0;
  }
}
