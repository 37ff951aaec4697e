/** How often a view redraws; a redraw costs as much time as its drawing advances the fake clock. */
import { effect, signal } from "@preact/signals";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Cadence } from "../../src/view/cadence";

let cadence: Cadence;
let costs: number[];
let drawn: number[];
const source = signal(0);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  cadence = new Cadence();
  costs = [];
  drawn = [];
  const copy = cadence.paced(source);
  effect(() => {
    if (copy.value === 0) return;
    drawn.push(performance.now());
    vi.advanceTimersByTime(costs.shift() ?? 0);
  });
});
afterEach(() => {
  cadence.dispose();
  source.value = 0;
  vi.useRealTimers();
});

/** Changes the state each millisecond; returns the times of the redraws since the first one. */
async function stream(milliseconds: number): Promise<number[]> {
  for (const start = performance.now(); performance.now() < start + milliseconds; ) {
    source.value += 1;
    await Promise.resolve();
    await vi.advanceTimersByTimeAsync(1);
  }
  return drawn.map((at) => at - (drawn[0] as number));
}

test("draws the first change after a pause in the same task", async () => {
  source.value += 1;
  await Promise.resolve();
  expect(drawn.length).toBe(1);
});

test("redraws a stream every frame while redraws are cheap", async () => {
  expect((await stream(100)).slice(0, 5)).toEqual([0, 16, 32, 48, 64]);
});

test("redraws a hidden view once a second", async () => {
  cadence.setVisible(false);
  expect((await stream(2500)).length).toBe(3);
});

test("one slow redraw does not slow down the next ones", async () => {
  costs = [0, 0, 0, 40];
  const after = (await stream(160)).slice(3);
  expect([(after[1] as number) - (after[0] as number), (after[2] as number) - (after[1] as number)]).toEqual([56, 16]);
});

test("limits costly redraws to a fifth of the time", async () => {
  costs = new Array(20).fill(20);
  const times = await stream(900);
  const gaps = times.slice(1).map((at, number) => at - (times[number] as number));
  expect(gaps.slice(3, 6)).toEqual([100, 100, 100]);
});
