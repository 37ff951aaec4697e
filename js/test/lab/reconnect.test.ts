/** If no cell can be running, a second connection checks if the kernel answers; if so, the first one is replaced. */
import type { NotebookPanel } from "@jupyterlab/notebook";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { renewOf } from "../../src/lab/reconnect";
import type { Connection } from "../../src/view/store";

/** A kernel's connection that creates others, and a list of the steps in their order. */
class Kernel {
  isDisposed = false;
  supportsSubshells = true;
  commsOverSubshells = "perCommTarget";
  resolveInfo: (answer: object) => void = () => {};
  readonly info = new Promise<object>((resolve) => {
    this.resolveInfo = resolve;
  });
  others: Kernel[] = [];

  constructor(readonly done: string[] = []) {}

  clone(): Kernel {
    this.done.push("asked");
    const other = new Kernel(this.done);
    this.others.push(other);
    return other;
  }

  async reconnect(): Promise<void> {
    this.done.push("made anew");
  }

  dispose(): void {
    this.done.push("closed");
  }
}

const panelOf = (kernel: Kernel | null) => ({ sessionContext: { session: { kernel } } }) as unknown as NotebookPanel;

const silent = (): Connection => "silent";
const busy = (): Connection => "busy";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("replaces the connection when the kernel answers a second one", async () => {
  const kernel = new Kernel();
  const renewed = renewOf(panelOf(kernel), 8, silent);
  void renewOf(panelOf(kernel), 8, silent); // a check is already running
  kernel.others[0]?.resolveInfo({});
  await vi.advanceTimersByTimeAsync(3_000);
  await renewed;
  expect(kernel.done.splice(0)).toEqual(["asked", "made anew", "closed"]);
  await renewOf(panelOf(kernel), 9, silent); // its answer may still arrive
  await vi.advanceTimersByTimeAsync(15_000);
  void renewOf(panelOf(kernel), 14, silent);
  expect(kernel.done).toEqual(["asked"]);
});

test("keeps the connection when the kernel answers on it or not at all", async () => {
  const kernel = new Kernel();
  let connection: Connection = "silent";
  const answered = renewOf(panelOf(kernel), 8, () => connection);
  connection = "live";
  kernel.others[0]?.resolveInfo({});
  await vi.advanceTimersByTimeAsync(3_000);
  await answered;
  const unanswered = renewOf(panelOf(kernel), 8, silent);
  await vi.advanceTimersByTimeAsync(20_000);
  await unanswered;
  expect(kernel.done).toEqual(["asked", "closed", "asked", "closed"]);
  await renewOf(panelOf(null), 8, silent);
});

test("renews without a check after a busy kernel, at most once a minute", async () => {
  const kernel = new Kernel();
  const times: number[] = [];
  kernel.reconnect = async () => void times.push(second);
  let second = 0;
  for (; second <= 240; second += 20) {
    void renewOf(panelOf(kernel), 8, second === 0 ? busy : silent);
    await vi.advanceTimersByTimeAsync(20_000);
  }
  expect(times).toEqual([0, 60, 120]);
  expect(kernel.done.slice(0, 2)).toEqual(["asked", "closed"]);
  kernel.reconnect = () => Promise.reject(new Error("the server is gone"));
  await renewOf(panelOf(kernel), 8, busy);
});

test.each([
  ["no subshells", { supportsSubshells: false }],
  ["no subshells for chats", { commsOverSubshells: "disabled" }],
])("does nothing for a kernel with %s while a cell runs", async (_case, properties) => {
  const kernel = Object.assign(new Kernel(), properties);
  await renewOf(panelOf(kernel), 8, busy);
  expect(kernel.done).toEqual([]);
});

test("checks a busy kernel after 24 s and then at doubled intervals", async () => {
  const kernel = new Kernel();
  const doubted: number[] = [];
  for (const beats of [1, 2, 4, 7, 8, 16, 24, 32, 40, 48, 56, 64]) {
    await renewOf(panelOf(kernel), beats, busy);
    if (kernel.done.splice(0).length > 0) doubted.push(beats);
    await vi.advanceTimersByTimeAsync(60_000);
  }
  expect(doubted).toEqual([8, 16, 32, 64]);
});
