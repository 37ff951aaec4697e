/** What components ask of the kernel: whether it is under way, what came of it, and why it failed. */
import { useEffect, useState } from "preact/hooks";
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

/** The answer to what is asked when the component comes, and again with other `inputs`; a late one to the last is dropped. */
export function useAnswer<T>(ask: () => Promise<T>, inputs: readonly unknown[]): Asked<T> {
  const [asked, set] = useState<Asked<T>>({});
  useEffect(() => {
    let isGone = false;
    const settle = (result: Asked<T>) => void (isGone || set(result));
    ask().then(
      (answer) => settle({ answer }),
      (error: unknown) => settle({ trouble: reason(error) }),
    );
    return () => {
      isGone = true;
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
