/** What components ask of the kernel: whether it is under way, what came of it, and why it failed; and what comes after a time. */
import { useEffect, useState } from "preact/hooks";
import { INERT_FOR } from "./permission-answer";
import { reason } from "./plain";

/** One piece of work at a time; `trouble` says why the last one failed. */
export function useWork() {
  const [{ isBusy, trouble }, set] = useState({ isBusy: false, trouble: "" });
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    set({ isBusy: true, trouble: "" });
    let trouble = "";
    try {
      await work();
    } catch (error) {
      trouble = reason(error);
    }
    set({ isBusy: false, trouble });
  };
  return { isBusy, trouble, run };
}

interface Asked<T> {
  readonly answer?: T;
  readonly trouble?: string;
}

/**
 * The answer to what is asked when the component comes, and again with other `inputs`; a late one to the last is dropped.
 * Where `ask` gives no promise there is none. It is asked so many milliseconds after the last change.
 */
export function useAnswer<T>(ask: () => Promise<T> | undefined, inputs: readonly unknown[], after = 0): Asked<T> {
  const [asked, set] = useState<Asked<T>>({});
  useEffect(() => {
    let isGone = false;
    const settle = (result: Asked<T>) => void (isGone || set(result));
    const begin = () =>
      ask()?.then(
        (answer) => settle({ answer }),
        (error: unknown) => settle({ trouble: reason(error) }),
      ) ?? settle({});
    const timer = after > 0 ? setTimeout(begin, after) : void begin();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, inputs);
  return asked;
}

/** Calls `then` so many milliseconds after the last change of `inputs`; never where there is no time. */
export function useAfter(ms: number | undefined, then: () => void, inputs: readonly unknown[]): void {
  useEffect(() => {
    if (ms === undefined) return;
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  }, inputs);
}

/** False for the first half second after `what` has appeared: a click or a key meant for something else cannot answer. */
export function useArmed(what: string): boolean {
  const [armedFor, arm] = useState<string>();
  useAfter(INERT_FOR, () => arm(what), [what]);
  return armedFor === what;
}
