/** Lets a test wait until a check passes. */
import { vi } from "vitest";

/** The real timer, even if a test uses fake ones. */
const sleep = globalThis.setTimeout;
/** In milliseconds. */
const LIMIT = 30_000;
const LONGEST_PAUSE = 25;
/** How far each attempt advances fake timers, in milliseconds. */
const STEP = 5;

/** Waits until `check` no longer throws, with increasing pauses; throws its error after about `LIMIT`. */
export async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  let waited = 0; // not by a clock: a test may have stopped it
  for (let pause = 1; ; pause = Math.min(1.5 * pause, LONGEST_PAUSE)) {
    try {
      return await check();
    } catch (error) {
      if (waited > LIMIT) throw error;
    }
    if (vi.isFakeTimers()) vi.advanceTimersByTime(STEP);
    await new Promise((resolve) => sleep(resolve, pause));
    waited += pause;
  }
}
