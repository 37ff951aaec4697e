/** The turns of one chat in a box that follows the newest, until the reader scrolls away. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ChatState } from "../state/types.gen";
import { useMemory, usePlace, useView } from "./context";
import { Icon } from "./icons";
import { count } from "./plain";
import { type AnyTurn, TurnItem } from "./turn";

const FIRST = 20;
const MORE = 50;
const NEAR_END = 8;
const NEAR_JUMP = 3;

/** A turn to go to; the nonce makes going there again another wish. */
export interface Jump {
  turnId: string;
  nonce: number;
}

export function Transcript({ chat, jump }: { chat: ChatState; jump?: Jump | undefined }) {
  const place = usePlace();
  const { store } = useView();
  const older = store.older(place.chat).value;
  const [shown, show] = useMemory(`shown ${place.chat}`, FIRST);
  const { box, content, pinned, toEnd, goTo, ...listeners } = usePinned(`scroll ${place.chat}`);
  const turns: AnyTurn[] = [...older.turns, ...chat.turns, ...(chat.activeTurn ? [chat.activeTurn] : [])];
  const here = Math.max(0, turns.length - shown);
  const hidden = here + older.left;
  const wanted = jump === undefined ? -1 : turns.findIndex((turn) => turn.id === jump.turnId);
  useLayoutEffect(() => {
    if (wanted < 0) return;
    if (wanted < here) show(turns.length - wanted + NEAR_JUMP);
    else goTo((jump as Jump).turnId);
  }, [jump, wanted < here]);
  const showMore = () => {
    show(shown + MORE);
    if (here < MORE) store.fetchOlder(place.chat, MORE).catch(() => undefined); // the button is still there
  };
  return (
    <div class="transcript-frame">
      <div
        class="transcript"
        ref={box}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must be reachable by keyboard
        tabIndex={0}
        {...listeners}
      >
        <div class="turns" ref={content}>
          {hidden > 0 && (
            <button type="button" class="button small earlier" onClick={showMore}>
              Show {count(Math.min(hidden, MORE))} earlier {hidden === 1 ? "turn" : "turns"}
              {hidden > MORE && ` of ${count(hidden)}`}
            </button>
          )}
          {turns.slice(here).map((turn) => (
            <TurnItem key={turn.id} turn={turn} />
          ))}
        </div>
      </div>
      {!pinned && (
        <button
          type="button"
          class="round to-end"
          aria-label="Go to the newest"
          title="Go to the newest"
          onClick={toEnd}
        >
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

/**
 * Keeps a box at its end while it is pinned.
 *
 * Heights change by themselves (`content-visibility`), so being away from the end means nothing: only what the
 * reader does with wheel, keys, touch or scrollbar unpins, and scrolling back to the end pins again.
 */
function usePinned(key: string) {
  const { memory } = useView();
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const byReader = useRef(false);
  const [pinned, setPinned] = useState(!memory.has(key));

  useLayoutEffect(() => {
    const kept = memory.get(key) as Spot | undefined;
    if (kept) moveTo(box.current as HTMLDivElement, kept);
  }, [key, memory]);

  useLayoutEffect(() => {
    const element = box.current as HTMLDivElement;
    if (!pinned) return;
    const follow = () => {
      element.scrollTop = element.scrollHeight;
    };
    follow();
    if (typeof ResizeObserver !== "function") return;
    const observer = new ResizeObserver(follow);
    observer.observe(content.current as HTMLDivElement);
    observer.observe(element);
    return () => observer.disconnect();
  }, [pinned]);

  // Heights are guesses until turns are drawn, so that a place is gone to twice.
  const goTo = (turnId: string) => {
    const spot = { turnId, offset: -MARGIN };
    memory.set(key, spot);
    setPinned(false);
    moveTo(box.current as HTMLDivElement, spot);
    setTimeout(() => box.current && moveTo(box.current, spot), 60);
  };
  const unpin = () => {
    byReader.current = true;
    if (pinned && canScroll(box.current as HTMLDivElement)) setPinned(false);
  };
  const toEnd = () => {
    memory.delete(key);
    setPinned(true);
  };
  return {
    box,
    content,
    pinned,
    toEnd,
    goTo,
    onWheel: (event: WheelEvent) => {
      byReader.current = true;
      if (event.deltaY < 0) unpin();
    },
    onTouchMove: unpin,
    onKeyDown: (event: KeyboardEvent) => {
      if (["PageUp", "ArrowUp", "Home"].includes(event.key)) unpin();
      else byReader.current = true;
    },
    onPointerDown: (event: PointerEvent) => {
      const element = box.current as HTMLDivElement;
      if (event.target === element && event.offsetX >= element.clientWidth) unpin();
    },
    onScroll: () => {
      const element = box.current as HTMLDivElement;
      if (pinned || !byReader.current) return;
      const left = element.scrollHeight - element.scrollTop - element.clientHeight;
      if (left <= NEAR_END) toEnd();
      else memory.set(key, spotOf(element));
    },
  };
}

const MARGIN = 12;

/** A place in the transcript that outlives changes of height: a turn, and how far its top is above the box's. */
interface Spot {
  turnId: string;
  offset: number;
}

const turnsIn = (box: HTMLElement) => [...box.querySelectorAll<HTMLElement>("[data-turn]")];

function spotOf(box: HTMLElement): Spot | undefined {
  const top = box.getBoundingClientRect().top;
  const turn = turnsIn(box).find((one) => one.getBoundingClientRect().bottom > top);
  return turn && { turnId: turn.dataset.turn as string, offset: top - turn.getBoundingClientRect().top };
}

function moveTo(box: HTMLElement, { turnId, offset }: Spot): void {
  const turn = turnsIn(box).find((one) => one.dataset.turn === turnId);
  if (turn) box.scrollTop += turn.getBoundingClientRect().top - box.getBoundingClientRect().top + offset;
}

function canScroll(element: HTMLElement): boolean {
  return element.scrollHeight > element.clientHeight && element.scrollTop > 0;
}
