import { describe, expect, test } from "vitest";
import { Follower, type Intent } from "../../src/view/pinned";

/** A box that scrolls as in a browser: it clamps, and reports a scroll later. */
class Box {
  clientHeight = 100;
  scrollHeight = 1000;
  readonly untold: (() => void)[] = [];
  tell = (): void => {};
  /** The result of `querySelector`: the question under the pointer. */
  hovered: Element | null = null;
  querySelector = (): Element | null => this.hovered;
  #top = 900;

  get scrollTop(): number {
    return this.#top;
  }

  set scrollTop(top: number) {
    const clamped = Math.max(0, Math.min(top, this.scrollHeight - this.clientHeight));
    if (clamped === this.#top) return;
    this.#top = clamped;
    this.untold.push(() => this.tell());
  }

  /** The browser's next frame: reports all pending scrolls. */
  frame(): void {
    for (const one of this.untold.splice(0)) one();
  }
}

function following(pinned = true) {
  const box = new Box();
  const reports: boolean[] = [];
  const kept: number[] = [];
  const follower = new Follower(box, pinned, (holds) => reports.push(holds));
  box.tell = () => {
    if (follower.scrolled()) kept.push(box.scrollTop);
  };
  const grow = (by = 40) => {
    box.scrollHeight += by;
    follower.follow();
  };
  return { box, follower, reports, kept, grow };
}

describe("a transcript at its end", () => {
  test("follows new content and ignores its own scroll events", () => {
    const { box, follower, reports, kept, grow } = following();
    for (let at = 0; at < 3; at++) grow();
    box.frame();
    expect([box.scrollTop, follower.pinned, reports, kept]).toEqual([1020, true, [], []]);
  });

  test("does not scroll while the pointer is on a question", () => {
    const { box, follower, grow } = following();
    box.hovered = {} as Element;
    grow();
    expect([box.scrollTop, follower.pinned]).toEqual([900, true]);
    box.hovered = null;
    grow();
    expect(box.scrollTop).toBe(980);
  });

  test("is unpinned by one wheel step even while text streams", () => {
    const { box, follower, reports, grow } = following();
    grow();
    follower.intends("up"); // the wheel event arrives first, …
    grow();
    box.frame(); // … then the report of the earlier scroll by our code, …
    grow();
    for (const step of [3, 10, 20, 17]) {
      box.scrollTop -= step; // … then the browser scrolls smoothly, at first hardly away from the end
      grow();
      box.frame();
    }
    expect([box.scrollTop, follower.pinned, reports]).toEqual([890, false, [false]]);
  });

  test("is unpinned by a wheel step before its own scroll is reported", () => {
    const { box, follower, kept, grow } = following();
    grow();
    grow();
    follower.intends("up");
    box.frame();
    expect([follower.pinned, kept]).toEqual([false, []]);
    box.scrollTop -= 2;
    box.frame();
    expect([follower.pinned, kept]).toEqual([false, [978]]);
  });

  test("stays pinned on a wheel step down or when nothing can scroll", () => {
    const { box, follower } = following();
    follower.intends("down");
    box.scrollHeight = 80;
    box.scrollTop = 0;
    follower.intends("up");
    expect(follower.pinned).toEqual(true);
  });

  test("stays pinned when content heights change", () => {
    const { box, follower, reports } = following();
    box.scrollHeight = 700; // the browser clamps
    box.scrollTop = 600;
    box.frame();
    box.scrollHeight = 1200;
    box.scrollTop = 650; // and anchors
    box.frame();
    expect([follower.pinned, reports]).toEqual([true, []]);
  });
});

describe("a transcript away from its end", () => {
  test.each<[Intent, number, boolean]>([
    ["down", 895, true],
    ["down", 700, false],
    ["free", 895, true],
    ["up", 895, false],
  ])("is pinned when the user scrolls %s to %i: %s", (intent, to, holds) => {
    const { box, follower } = following();
    follower.intends("up");
    box.scrollTop = 500;
    box.frame();
    follower.intends(intent);
    box.scrollTop = to;
    box.frame();
    expect(follower.pinned).toEqual(holds);
  });

  test("stays unpinned when its own code scrolls near the end", () => {
    const { box, follower, kept } = following(false);
    follower.moves(() => {
      box.scrollTop = 898;
    });
    box.frame();
    expect([follower.pinned, kept]).toEqual([false, []]);
  });

  test("counts the scroll intents of the user", () => {
    const { follower } = following(false);
    follower.intends("down");
    expect(follower.wishes).toEqual(1);
  });

  test("is pinned and scrolled to the end by hold()", () => {
    const { box, follower, reports, grow } = following();
    follower.intends("up");
    box.scrollTop = 300;
    box.frame();
    grow(200);
    follower.hold();
    expect([box.scrollTop, reports]).toEqual([1100, [false, true]]);
  });
});
