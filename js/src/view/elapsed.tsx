/**
 * Shows how long a turn has run or took, by the kernel's times in its state. The page's clock may differ from the
 * kernel's, because of a wrong time zone or a laptop that slept: the difference is subtracted.
 */
import { useEffect, useState } from "preact/hooks";
import type { ActiveTurn, ToolCallRun, Turn } from "../state/types.gen";
import { useView } from "./context";
import { duration } from "./plain";

const SHORTEST = 1000;

/** Returns the milliseconds so far; counted from the first display if the kernel has not reported the start yet. */
export function useElapsed(turn: ActiveTurn): number {
  const { memory, store } = useView();
  const key = `start ${turn.id}`;
  if (!memory.has(key)) memory.set(key, Date.now());
  return useSince(
    turn.startedAt === undefined ? (memory.get(key) as number) : Date.parse(turn.startedAt) - store.ahead.value,
  );
}

/** Returns the milliseconds since `began`, by the page's clock; updates each second while `running`. */
function useSince(began: number, running = true): number {
  const [now, tick] = useState(Date.now);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => tick(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [running]);
  return Math.max(0, now - began);
}

/** Shows how long code in the kernel has run so far, or took. */
export function RunTime({ run: { startedAt, endedAt } }: { run: ToolCallRun }) {
  const { store } = useView();
  const soFar = useSince(startedAt - store.ahead.value, endedAt === undefined);
  const ms = endedAt === undefined ? soFar : endedAt - startedAt;
  return <span class="dim elapsed">{ms < 9950 ? `${(Math.max(ms, 100) / 1000).toFixed(1)} s` : duration(ms)}</span>;
}

/** Shows how long a turn took, if known and at least a second. */
export function Took({ turn: { startedAt, duration: took } }: { turn: Turn }) {
  if (startedAt === undefined || took === undefined || took < SHORTEST) return null;
  return (
    <span class="dim elapsed" title={`Started ${new Date(startedAt).toLocaleString()}`}>
      {duration(took)}
    </span>
  );
}
