/** Waits in tests. */
import { vi } from "vitest";

/** The real timer, also where a test has timers of its own. */
const sleep = globalThis.setTimeout;
/** In milliseconds. */
const LIMIT = 30_000;
const LONGEST_PAUSE = 25;
/** How far each look moves the timers of a test whose timers stand. */
const STEP = 5;

/** Waits until `check` no longer throws, with longer and longer pauses. The limit is for what never comes. */
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
