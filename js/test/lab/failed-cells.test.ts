import type { Cell } from "@jupyterlab/notebook";
import { expect, test } from "vitest";
import { failureOf } from "../../src/lab/failed-cells";

function cell(source: string, outputs: Record<string, unknown>[], count: number | null = 3): Cell {
  const get = (index: number) => ({ type: String(outputs[index]?.output_type), toJSON: () => outputs[index] });
  const sharedModel = { id: "c3", cell_type: "code", execution_count: count, getSource: () => source };
  return { model: { sharedModel }, outputArea: { model: { length: outputs.length, get } } } as unknown as Cell;
}

const printed = { output_type: "stream", text: "before" };
const error = { output_type: "error", ename: "KeyError", evalue: "'x'", traceback: ["---", "KeyError: 'x'"] };

test("reads a cell's error with its cell, number and traceback", () => {
  const expected = { cellId: "c3", count: 3, name: "KeyError", message: "'x'", traceback: "---\nKeyError: 'x'" };
  expect(failureOf(cell("df.x", [printed, error, printed]), "fix")).toEqual({ action: "fix", ...expected });
});

test.each([
  ["no error", cell("x", [printed])],
  ["an interrupt", cell("x", [{ ...error, ename: "KeyboardInterrupt" }])],
  ["an error of a prompt cell", cell("  %%agent\nHello", [error])],
  ["a Markdown cell", { ...cell("x", []), outputArea: undefined } as unknown as Cell],
])("offers no fix for %s", (_, otherCell) => {
  expect(failureOf(otherCell, "fix")).toEqual(undefined);
});

test("keeps the end of a long traceback and needs no cell number", () => {
  const long = cell("x", [{ ...error, evalue: undefined, traceback: ["a".repeat(100_000), "end"] }], null);
  const failed = failureOf(long, "explain");
  expect(failed?.count).toEqual(undefined);
  expect([failed?.traceback.length, failed?.traceback.endsWith("a\nend")]).toEqual([20_000, true]);
});
