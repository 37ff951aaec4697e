/** Hooks for requests to the kernel (their progress, result and error), and for delays. */
import { useEffect, useState } from "preact/hooks";
import { INERT_FOR } from "./permission-answer";
import { reason } from "./plain";

/** Runs one piece of work at a time; `trouble` is the last one's error. */
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
 * Returns the answer to a request made when the component mounts, and again with other `inputs`; drops late answers to
 * earlier inputs. There is none if `ask` returns no promise. The request is sent `after` milliseconds after the last
 * change.
 */
export function useAnswer<T>(ask: () => Promise<T> | undefined, inputs: readonly unknown[], after = 0): Asked<T> {
  const [outcome, set] = useState<Asked<T>>({});
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
  return outcome;
}

/** Calls `then` `ms` milliseconds after the last change of `inputs`; never if `ms` is undefined. */
export function useAfter(ms: number | undefined, then: () => void, inputs: readonly unknown[]): void {
  useEffect(() => {
    if (ms === undefined) return;
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  }, inputs);
}

/**
 * Returns false for the first half second after `what` appears, so that a click or key meant for something else cannot
 * answer.
 */
export function useArmed(what: string): boolean {
  const [armedFor, arm] = useState<string>();
  useAfter(INERT_FOR, () => arm(what), [what]);
  return armedFor === what;
}
