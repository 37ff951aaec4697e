/** Keeps a transcript scrolled to its end, or to the place that the user chose and the view remembers. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { table } from "../state/object";
import { useView } from "./context";

const MARGIN = 12;
const DRAWN_AFTER = 60;
const KEYS: Record<string, Intent> = table({
  ArrowUp: "up",
  PageUp: "up",
  Home: "up",
  ArrowDown: "down",
  PageDown: "down",
  End: "down",
});

/**
 * A place in the transcript that stays valid when heights change: a turn, and the distance of its top above the box's
 * top.
 */
interface Spot {
  turnId: string;
  offset: number;
}

export function usePinned(key: string) {
  const { memory, growth } = useView();
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const kept = useRef<Follower | undefined>(undefined);
  const leftForFold = useRef(false);
  const [pinned, setPinned] = useState(!memory.has(key));
  const follower = () => kept.current as Follower;

  useLayoutEffect(() => {
    const element = box.current as HTMLDivElement;
    const spot = memory.get(key) as Spot | undefined;
    const made = new Follower(element, spot === undefined, (holds) => {
      if (holds) memory.delete(key);
      setPinned(holds);
    });
    kept.current = made;
    setPinned(made.pinned);
    if (spot) made.moves(() => moveTo(element, spot));
    const follow = () => made.follow();
    follow();
    if (typeof ResizeObserver !== "function") return;
    const observer = new ResizeObserver(follow);
    observer.observe(content.current as HTMLDivElement);
    observer.observe(element);
    return () => observer.disconnect();
  }, [key, memory]);

  useLayoutEffect(() => {
    growth.inSight(pinned);
    return () => growth.inSight(true);
  }, [growth, pinned]);

  // Scrolls right after drawing: a scroll that waits for the observer makes the browser prepare a second frame.
  useLayoutEffect(() => kept.current?.follow());

  // Heights are guesses until turns are drawn, so it scrolls twice, unless the user has scrolled meanwhile.
  const goTo = (turnId: string) => {
    const spot = { turnId, offset: -MARGIN };
    const { wishes } = follower();
    const go = () => {
      const element = box.current;
      if (element && follower().wishes === wishes) follower().moves(() => moveTo(element, spot));
    };
    memory.set(key, spot);
    follower().release();
    go();
    setTimeout(go, DRAWN_AFTER);
  };

  // Runs once a fold is drawn, before its growth is followed: that would scroll the head of a long one out of sight.
  const afterFold = (head: Element) => {
    const element = box.current;
    if (!element || !head.isConnected) return;
    if (isAbove(element, head)) {
      leftForFold.current ||= follower().pinned;
      follower().intends("up");
      follower().release();
    } else if (leftForFold.current) {
      leftForFold.current = false;
      follower().hold();
    }
  };
  const onClick = (event: MouseEvent) => {
    const head = (event.target as Element).closest(".fold-head");
    if (head) requestAnimationFrame(() => afterFold(head));
  };

  return {
    box,
    content,
    pinned,
    onClick,
    toEnd: () => follower().hold(),
    goTo,
    ...listeners(box, follower, (spot) => memory.set(key, spot)),
  };
}

/** Returns the event listeners that detect where the user wants to scroll. */
function listeners(
  box: { current: HTMLDivElement | null },
  follower: () => Follower,
  keep: (spot: Spot | undefined) => void,
) {
  const finger = { y: 0 };
  return {
    onWheel: (event: WheelEvent) => {
      if (event.deltaY !== 0 && !event.ctrlKey) follower().intends(event.deltaY < 0 ? "up" : "down");
    },
    onTouchStart: (event: TouchEvent) => {
      finger.y = event.touches[0]?.clientY ?? 0;
    },
    onTouchMove: (event: TouchEvent) => {
      const y = event.touches[0]?.clientY ?? 0;
      if (y !== finger.y) follower().intends(y > finger.y ? "up" : "down");
      finger.y = y;
    },
    onKeyDown: (event: KeyboardEvent) => {
      if ((event.target as Element).matches("textarea, input, select")) return;
      const intent = event.key === " " && event.target === box.current ? space(event) : KEYS[event.key];
      if (intent) follower().intends(intent);
    },
    onPointerDown: (event: PointerEvent) => {
      const element = box.current as HTMLDivElement;
      if (event.target === element && event.offsetX >= element.clientWidth) follower().intends("free");
    },
    onFocusIn: (event: FocusEvent) => {
      if (isAbove(box.current as HTMLDivElement, event.target as Element)) follower().intends("up");
    },
    onScroll: () => {
      if (follower().scrolled()) keep(spotOf(box.current as HTMLDivElement));
    },
  };
}

const space = (event: KeyboardEvent): Intent => (event.shiftKey ? "up" : "down");

/** True if `element` would be out of sight with the box at its end. */
function isAbove(box: HTMLElement, element: Element): boolean {
  if (element === box) return false;
  const end = box.getBoundingClientRect().top - box.scrollTop + box.scrollHeight;
  return element.getBoundingClientRect().bottom < end - box.clientHeight;
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

/** The user's wish to scroll; `free`: to wherever the scrollbar or a finger is dragged. */
export type Intent = "up" | "down" | "free";

const NEAR_END = 8;
const ASKING = ".permission:hover";

type Box = Pick<HTMLElement, "scrollTop" | "scrollHeight" | "clientHeight" | "querySelector">;

/**
 * Decides whether a scrolling box stays at its end.
 *
 * Heights change by themselves (`content-visibility`), new text scrolls the box, and the browser scrolls smoothly or
 * only after its events: so the scroll position does not show what the user wants. Only intents do. An intent up
 * releases the end at once, before the browser scrolls; only an intent down that reaches the end holds it again.
 * Scrolls by this code are recognized by their target position.
 */
export class Follower {
  readonly #box: Box;
  readonly #changed: (pinned: boolean) => void;
  #pinned: boolean;
  #intent: Intent | undefined;
  #last: number;
  #ours: number | undefined;
  /** Number of the user's intents so far. */
  wishes = 0;

  constructor(box: Box, pinned: boolean, changed: (pinned: boolean) => void) {
    this.#box = box;
    this.#pinned = pinned;
    this.#changed = changed;
    this.#last = box.scrollTop;
  }

  get pinned(): boolean {
    return this.#pinned;
  }

  /** Scrolls to the end if it is held, except while the pointer is on a question: nothing may move under it. */
  follow(): void {
    if (this.#pinned && !this.#box.querySelector(ASKING)) this.moves(() => this.#toEnd());
  }

  /** Scrolls by code: the scroll event that follows is not the user's. */
  moves(scroll: () => void): void {
    scroll();
    this.#last = this.#box.scrollTop;
    this.#ours = this.#last;
  }

  intends(intent: Intent): void {
    this.#intent = intent;
    this.wishes += 1;
    const canLeave = this.#box.scrollTop > 0 && this.#box.scrollHeight > this.#box.clientHeight;
    if (intent !== "down" && canLeave) this.release();
  }

  hold(): void {
    this.#intent = undefined;
    this.#set(true);
    this.follow();
  }

  release(): void {
    this.#set(false);
  }

  /** Handles a scroll event; returns true if the user scrolled to a place to remember. */
  scrolled(): boolean {
    const { scrollTop, scrollHeight, clientHeight } = this.#box;
    const isOurs = scrollTop === this.#ours;
    const isDown = scrollTop > this.#last;
    this.#last = scrollTop;
    if (isOurs || this.#pinned || this.#intent === undefined) return false;
    this.#ours = undefined;
    const arrived = scrollHeight - scrollTop - clientHeight <= NEAR_END;
    if (arrived && (this.#intent === "down" || (this.#intent === "free" && isDown))) {
      this.#set(true);
      return false;
    }
    return true;
  }

  #toEnd(): void {
    this.#box.scrollTop = this.#box.scrollHeight;
  }

  #set(pinned: boolean): void {
    if (this.#pinned === pinned) return;
    this.#pinned = pinned;
    this.#changed(pinned);
  }
}
