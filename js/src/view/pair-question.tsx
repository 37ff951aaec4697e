/** Asks before the kernel is opened to programs of the user's own: it widens who can reach it. */
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { useArmed } from "./armed";

export function PairQuestion({ onYes, onNo }: { onYes: () => void; onNo: () => void }) {
  const id = useId();
  const no = useRef<HTMLButtonElement>(null);
  const armed = useArmed("pair");
  useLayoutEffect(() => no.current?.focus(), []);
  return (
    <div
      class="confirm card"
      role="alertdialog"
      aria-labelledby={id}
      aria-describedby={`${id}-what`}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onNo();
      }}
    >
      <strong id={id}>Pair a terminal agent?</strong>
      <p id={`${id}-what`}>
        Every program of yours on this machine can then see the variables and cells of this notebook. It can run code
        and change cells as your permissions say: by default you are asked each time. That ends when you unpair, or when
        the kernel ends.
      </p>
      <div class="restart">
        <button type="button" class="button small primary" aria-disabled={!armed} onClick={() => armed && onYes()}>
          Pair
        </button>
        <button ref={no} type="button" class="button small secondary" onClick={onNo}>
          Cancel
        </button>
      </div>
    </div>
  );
}
