/** Asks before the kernel is opened to programs of the user's own: it widens who can reach it. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { useArmed } from "./armed";
import { ConfirmCard } from "./confirm-card";

const WHAT = (
  <p>
    Every program of yours on this machine can then see the variables and cells of this notebook. It can run code and
    change cells as your permissions say: by default you are asked each time. That ends when you unpair, or when the
    kernel ends.
  </p>
);

export function PairQuestion({ onYes, onNo }: { onYes: () => void; onNo: () => void }) {
  const no = useRef<HTMLButtonElement>(null);
  const armed = useArmed("pair");
  useLayoutEffect(() => no.current?.focus(), []);
  return (
    <ConfirmCard title="Pair a terminal agent?" what={WHAT} onNo={onNo}>
      <div class="restart">
        <button type="button" class="button small primary" aria-disabled={!armed} onClick={() => armed && onYes()}>
          Pair
        </button>
        <button ref={no} type="button" class="button small secondary" onClick={onNo}>
          Cancel
        </button>
      </div>
    </ConfirmCard>
  );
}
