/** Asks before the kernel is opened to programs of the user's own: it widens who can reach it. */

import { ConfirmCard } from "./confirm-card";
import { Button, useFocused } from "./controls";
import { useArmed } from "./use-work";

const WHAT = (
  <p>
    Every program of yours on this machine can then see the variables and cells of this notebook. It can run code and
    change cells as your permissions say: by default you are asked each time. That ends when you unpair, or when the
    kernel ends.
  </p>
);

export function PairQuestion({ onYes, onNo }: { onYes: () => void; onNo: () => void }) {
  const no = useFocused<HTMLButtonElement>();
  const armed = useArmed("pair");
  return (
    <ConfirmCard title="Pair a terminal agent?" what={WHAT} onNo={onNo}>
      <div class="row wraps restart">
        <Button class="primary" aria-disabled={!armed} onClick={() => armed && onYes()}>
          Pair
        </Button>
        <Button ref={no} onClick={onNo}>
          Cancel
        </Button>
      </div>
    </ConfirmCard>
  );
}
