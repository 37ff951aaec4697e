/** A second connection asks whether the kernel answers; only then the first is made anew. */
import type { NotebookPanel } from "@jupyterlab/notebook";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { renewOf } from "../../src/lab/reconnect";

/** A kernel's connection that makes others, and what was done, in its order. */
class Connection {
  isDisposed = false;
  said: (answer: object) => void = () => {};
  readonly info = new Promise<object>((resolve) => {
    this.said = resolve;
  });
  others: Connection[] = [];

  constructor(readonly done: string[] = []) {}

  clone(): Connection {
    this.done.push("asked");
    const other = new Connection(this.done);
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

const panelOf = (kernel: Connection | null) =>
  ({ sessionContext: { session: { kernel } } }) as unknown as NotebookPanel;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a kernel that answers another connection gets a new one, before that one is closed", async () => {
  const kernel = new Connection();
  const renewed = renewOf(panelOf(kernel), () => true);
  void renewOf(panelOf(kernel), () => true); // it is being asked
  kernel.others[0]?.said({});
  await vi.advanceTimersByTimeAsync(1_000);
  await renewed;
  expect(kernel.done).toEqual(["asked", "made anew", "closed"]);
});

test("a kernel that has answered meanwhile, or answers nobody, keeps its connection, and is asked again later", async () => {
  const kernel = new Connection();
  const answered = renewOf(panelOf(kernel), () => false);
  kernel.others[0]?.said({});
  await vi.advanceTimersByTimeAsync(1_000);
  await answered;
  const unanswered = renewOf(panelOf(kernel), () => true);
  await vi.advanceTimersByTimeAsync(20_000);
  await unanswered;
  expect(kernel.done).toEqual(["asked", "closed", "asked", "closed"]);
  await renewOf(panelOf(null), () => true);
});
