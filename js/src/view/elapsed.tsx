/**
 * How long a turn has run, or took: by the times in its state, which are the kernel's. Its clock and the page's may
 * differ, by time zones that were set wrong or a laptop that slept: what they differ by is taken off.
 */
import { useEffect, useState } from "preact/hooks";
import type { ActiveTurn, ToolCallRun, Turn } from "../state/types.gen";
import { useView } from "./context";
import { duration } from "./plain";

const SHORTEST = 1000;

/** Milliseconds so far; where the kernel has not yet said when the turn began, since it is shown. */
export function useElapsed(turn: ActiveTurn): number {
  const { memory, store } = useView();
  const key = `start ${turn.id}`;
  if (!memory.has(key)) memory.set(key, Date.now());
  return useSince(
    turn.startedAt === undefined ? (memory.get(key) as number) : Date.parse(turn.startedAt) - store.ahead.value,
  );
}

/** Milliseconds since `began`, by the page's clock; counts on while it is `running`. */
function useSince(began: number, running = true): number {
  const [now, tick] = useState(Date.now);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => tick(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [running]);
  return Math.max(0, now - began);
}

/** How long code in the kernel has run so far, or took. */
export function RunTime({ run: { startedAt, endedAt } }: { run: ToolCallRun }) {
  const { store } = useView();
  const soFar = useSince(startedAt - store.ahead.value, endedAt === undefined);
  const ms = endedAt === undefined ? soFar : endedAt - startedAt;
  return <span class="dim elapsed">{ms < 9950 ? `${(Math.max(ms, 100) / 1000).toFixed(1)} s` : duration(ms)}</span>;
}

/** How long a turn took, where that is known and worth a word. */
export function Took({ turn: { startedAt, duration: took } }: { turn: Turn }) {
  if (startedAt === undefined || took === undefined || took < SHORTEST) return null;
  return (
    <span class="dim elapsed" title={`Started ${new Date(startedAt).toLocaleString()}`}>
      {duration(took)}
    </span>
  );
}
