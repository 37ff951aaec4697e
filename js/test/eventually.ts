/** Waits in tests. */
import { vi } from "vitest";

/** Waits until `check` no longer throws; where a test's timers stand, each look moves them. The limit is for what never comes. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 30_000, interval: 5 });
}
