/** The class that tells a view's styles when its text grows. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TextGrowth } from "../../src/view/text-growth";
import { CHAT, readyStore, startTurn } from "./memory-store";
import { open } from "./page";

let body: HTMLElement;
let growth: TextGrowth;
const grows = () => body.classList.contains("text-grows");

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  body = document.createElement("div");
  growth = new TextGrowth(body);
});
afterEach(() => {
  growth.end();
  vi.useRealTimers();
});

/** Grows the text `times` times, every `pause` milliseconds; returns whether it still counted as growing each time. */
function stream(times: number, pause: number): boolean[] {
  return Array.from({ length: times }, () => {
    growth.grew();
    vi.advanceTimersByTime(pause);
    return grows();
  });
}

test("text streamed at a steady pace counts as growing", () => {
  expect(stream(30, 100)).toEqual(new Array(30).fill(true));
});

test("text stops counting as growing after a pause, until more arrives", () => {
  stream(5, 100);
  vi.advanceTimersByTime(1000);
  expect(grows()).toBe(false);
  growth.grew();
  expect(grows()).toBe(true);
});

test("text streamed slowly does not count as growing", () => {
  expect(stream(3, 900)).toEqual([false, false, false]);
});

test("text out of sight does not count as growing", () => {
  growth.grew();
  growth.inSight(false);
  expect(grows()).toBe(false);
  expect(stream(3, 10)).toEqual([false, false, false]);
  growth.inSight(true);
  expect(stream(3, 10)).toEqual([true, true, true]);
});

test("the view has the class text-grows only while an answer grows", async () => {
  vi.useRealTimers();
  const store = readyStore();
  startTurn(store, "t", "x");
  const page = open(store, { kind: "chat" });
  await page.until(() => expect(page.all(".dots i").length).toBe(3));
  const before: (string | null)[] = []; // the view's previous classes, at each change
  const watch = new MutationObserver((changes) => before.push(...changes.map(({ oldValue }) => oldValue)));
  watch.observe(page.find(".root"), { attributeFilter: ["class"], attributeOldValue: true });
  const [rests, grows] = ["root chat", "root chat text-grows"];
  store.apply(CHAT, { type: "chat/responsePart", turnId: "t", part: { kind: "markdown", id: "m", content: "One" } });
  await page.until(() => expect(before).toEqual([rests, grows]));
  store.apply(CHAT, { type: "chat/delta", turnId: "t", partId: "m", content: " two" });
  await page.until(() => expect(before).toEqual([rests, grows, rests, grows]));
  store.apply(CHAT, { type: "chat/turnComplete", turnId: "t" });
  await page.until(() => expect(page.all(".working")).toEqual([]));
  expect([page.find(".root").className, before.length]).toEqual([rests, 4]);
  watch.disconnect();
});
