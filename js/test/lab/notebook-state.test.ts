import type { Notebook, NotebookPanel } from "@jupyterlab/notebook";
import { describe, expect, it } from "vitest";
import {
  boundedCells,
  type CellState,
  Difference,
  LONGEST_CELL,
  LONGEST_NOTEBOOK,
  MOST_CELLS,
  notebookState,
} from "../../src/lab/notebook-state";

const cell = (id: string, source: string, count: number | null = null): CellState => ({
  id,
  kind: "code",
  ...(count && { count }),
  source,
});
const many = (number: number, source: string): CellState[] =>
  Array.from({ length: number }, (_, index) => cell(String(index), source));

describe("cells sent to the kernel", () => {
  it("are all cells of a small notebook, in order", () => {
    expect(boundedCells([cell("a", "x = 1", 3), cell("b", "")], 0)).toEqual([
      { id: "a", kind: "code", count: 3, source: "x = 1" },
      { id: "b", kind: "code", source: "" },
    ]);
  });

  it("are cut and marked as cut when they are long", () => {
    const [sent] = boundedCells([cell("a", "x".repeat(LONGEST_CELL + 1))], 0);
    expect(sent?.source).toHaveLength(LONGEST_CELL);
    expect(sent?.cut).toBe(true);
  });

  it("keep their text near the active cell when space is short", () => {
    const cells = many(30, "y".repeat(LONGEST_CELL));
    const sent = boundedCells(cells, 20);
    expect(sent.reduce((sum, { source }) => sum + (source?.length ?? 0), 0)).toBe(LONGEST_NOTEBOOK);
    expect(sent[20]?.cut).toBeUndefined();
    expect(sent[0]).toMatchObject({ source: "", cut: true });
  });

  it.each([0, 2_000, 4_999])("are limited in number around the active cell (%i)", (active) => {
    const sent = boundedCells(many(5_000, ""), active);
    expect(sent).toHaveLength(MOST_CELLS);
    expect(sent.map(({ id }) => id)).toContain(String(active));
  });
});

describe("a notebook of 5,000 cells", () => {
  it("is read only around the active cell and gives the first cell's index", () => {
    let reads = 0;
    const cells = Array.from({ length: 5_000 }, (_, index) => ({
      id: String(index),
      cell_type: "code",
      getSource: () => `${++reads}`,
      getMetadata: (name: string) => {
        if (name === "tags") return index === 3_000 ? ["a", "b"] : undefined;
        return index !== 3_001;
      },
    }));
    const notebook = { model: { sharedModel: { cells } }, activeCellIndex: 3_000, activeCell: null };
    const context = { path: "a.ipynb", contentsModel: { writable: false } } as NotebookPanel["context"];
    const state = notebookState(context, notebook as unknown as Notebook);
    expect([reads, state.cells?.length, state.first]).toEqual([MOST_CELLS, MOST_CELLS, 2_500]);
    expect(state.readOnly).toBe(true);
    expect(state.cells?.slice(500, 502)).toEqual([
      { id: "3000", kind: "code", tags: ["a", "b"], source: expect.any(String) },
      { id: "3001", kind: "code", editable: false, deletable: false, source: expect.any(String) },
    ]);
  });
});

describe("a notebook with two cells of the same id", () => {
  const stateAt = (active: number, ...ids: string[]) => {
    const cells = ids.map((id) => ({ id, cell_type: "code", getSource: () => "", getMetadata: () => undefined }));
    const activeCell = { model: { id: ids[active], sharedModel: cells[active] }, editor: null };
    const notebook = { model: { sharedModel: { cells } }, activeCellIndex: active, activeCell };
    return notebookState({ path: "a.ipynb" } as NotebookPanel["context"], notebook as unknown as Notebook);
  };

  it("gives the active cell's index", () => {
    expect(stateAt(2, "a", "b", "b")).toMatchObject({ active: "b", activeAt: 2 });
  });

  it("gives no index when the active cell's id is unique", () => {
    expect(stateAt(0, "a", "b", "b")).not.toHaveProperty("activeAt");
  });
});

describe("the difference sent to the kernel", () => {
  const state = (...cells: CellState[]) => ({ path: "a.ipynb", cells: boundedCells(cells, 0) });

  it("has no cells when none has changed", () => {
    const difference = new Difference();
    expect(difference.of(state(cell("a", "1"))).cells).toHaveLength(1);
    expect(difference.of({ ...state(cell("a", "1")), active: "a" })).toEqual({ path: "a.ipynb", active: "a" });
  });

  it("has the source of changed cells and only the place of the others", () => {
    const difference = new Difference();
    difference.of(state(cell("a", "1"), cell("b", "2")));
    expect(difference.of(state(cell("b", "2"), cell("a", "1!"))).cells).toEqual([
      { id: "b", kind: "code" },
      { id: "a", kind: "code", source: "1!" },
    ]);
  });

  it("has the source of a cell that was removed and added again", () => {
    const difference = new Difference();
    difference.of(state(cell("a", "1"), cell("b", "2")));
    difference.of(state(cell("a", "1")));
    expect(difference.of(state(cell("a", "1"), cell("b", "2"))).cells?.[1]?.source).toBe("2");
  });
});
