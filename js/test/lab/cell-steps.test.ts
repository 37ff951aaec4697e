import type { SharedNotebook } from "@jupyterlab/notebook";
import { describe, expect, it } from "vitest";
import { type CellStep, changeCells } from "../../src/lab/cell-steps";

/** A cell's shared model, as far as changes use it. */
class Cell {
  constructor(
    readonly id: string,
    public source: string,
    readonly metadata: Record<string, unknown> = {},
    readonly cell_type = "code",
    public outputs: unknown[] = [],
    public execution_count: number | null = null,
  ) {}
  setOutputs(outputs: unknown[]): void {
    this.outputs = outputs;
  }
  getSource = (): string => this.source;
  updateSource(start: number, end: number, value: string): void {
    this.source = this.source.slice(0, start) + value + this.source.slice(end);
  }
  getMetadata = (name: string): unknown => this.metadata[name];
  setMetadata = (name: string, value: unknown): void => void Object.assign(this.metadata, { [name]: value });
  deleteMetadata = (name: string): void => void delete this.metadata[name];
  toJSON = (): Record<string, unknown> => {
    const { id, cell_type, source, outputs } = this;
    return { ...{ id, cell_type, source }, metadata: { ...this.metadata }, outputs };
  };
}

/** A notebook's model as far as changes use it: `cells` stays the same until a transaction ends, as in JupyterLab. */
function notebook(...cells: Cell[]) {
  const counts = { steps: 0, captures: 0 };
  const now = [...cells];
  const shared = {
    cells: [...cells] as readonly Cell[],
    undoManager: { stopCapturing: () => void counts.captures++ },
    transact: (change: () => void) => {
      counts.steps++;
      change();
      shared.cells = [...now];
    },
    insertCell: (index: number, model: unknown) => {
      if (index > now.length) throw new Error("Length exceeded!");
      const { id, source, metadata, cell_type, outputs } = model as Cell;
      const cell = new Cell(id, source, metadata, cell_type, outputs);
      now.splice(index, 0, cell);
      return cell;
    },
    deleteCell: (index: number) => void now.splice(index, 1),
  };
  return { shared, counts, texts: () => shared.cells.map(({ id, source }) => [id, source]) };
}

describe("clearing outputs", () => {
  it("removes outputs and count, and restores them in the same page", () => {
    const cell = new Cell("a", "1", { editable: false }, "code", [{ text: "shown" }], 7);
    const { shared } = notebook(cell);
    const step = (action: "clear" | "restore"): CellStep[] => [{ action, cellId: "a", expected: null }];
    expect(changeCells(shared, step("clear"))).toEqual([]);
    expect([cell.outputs, cell.execution_count, cell.source]).toEqual([[], null, "1"]);
    expect(changeCells(shared, step("restore"))).toEqual([]);
    expect([cell.outputs, cell.execution_count]).toEqual([[{ text: "shown" }], 7]);
    const other = notebook(new Cell("a", "1", {}, "code", [{ text: "kept" }], 3)).shared;
    expect(changeCells(other, step("restore"))).toEqual([]); // another page: it has no outputs to restore
    expect(other.cells[0]?.outputs).toEqual([{ text: "kept" }]);
    expect(changeCells(other, [{ action: "clear", cellId: "gone", expected: null }])).toHaveLength(1);
  });
});

describe("outputs set together with a text", () => {
  it("follow the text when the change is undone and redone", () => {
    const cell = new Cell("a", "new", {}, "code", [{ text: "old" }], 3);
    const { shared } = notebook(cell);
    changeCells(shared, [
      { action: "outputs", cellId: "a", source: "old", expected: null, outputs: [{ text: "new" }] },
    ]);
    expect([cell.outputs, cell.execution_count]).toEqual([[{ text: "new" }], null]);
    changeCells(shared, [{ action: "replace", cellId: "a", source: "old", expected: "new" }]);
    expect([cell.outputs, cell.execution_count]).toEqual([[{ text: "old" }], 3]);
    changeCells(shared, [{ action: "replace", cellId: "a", source: "new", expected: "old" }]);
    expect(cell.outputs).toEqual([{ text: "new" }]);
  });
});

describe("changing cells", () => {
  const steps: CellStep[] = [
    { action: "delete", cellId: "a", expected: "1" },
    { action: "replace", cellId: "b", expected: "2", source: "20" },
    { action: "insert", cellId: "d", kind: "markdown", source: "# D", below: "b" },
    { action: "insert", cellId: "e", source: "5", below: "gone", index: 9 },
  ];

  it("deletes, replaces and inserts cells in one undo step", () => {
    const { shared, counts, texts } = notebook(new Cell("a", "1"), new Cell("b", "2"), new Cell("c", "3"));
    expect(changeCells(shared, steps)).toEqual([]);
    expect(texts()).toEqual([
      ["b", "20"],
      ["d", "# D"],
      ["c", "3"],
      ["e", "5"],
    ]);
    expect(shared.cells[1]?.cell_type).toBe("markdown");
    expect(counts).toEqual({ steps: 1, captures: 2 });
    expect(changeCells(shared, steps)).toEqual([]); // already done
    expect(counts.steps).toBe(1);
  });

  it.each<[CellStep, string | null]>([
    [{ action: "replace", cellId: "b", expected: "other", source: "20" }, "2"],
    [{ action: "delete", cellId: "b", expected: "other" }, "2"],
    [{ action: "replace", cellId: "gone", expected: "2", source: "20" }, null],
    [{ action: "insert", cellId: "b", source: "20", index: 0 }, "2"],
  ])("changes nothing when a cell differs from the expected text: %j", (step, current) => {
    const { shared, counts, texts } = notebook(new Cell("a", "1"), new Cell("b", "2"));
    const conflicts = changeCells(shared, [{ action: "delete", cellId: "a", expected: "1" }, step]);
    expect(conflicts).toEqual([{ cellId: step.cellId, current }]);
    expect([texts().length, counts.steps]).toEqual([2, 0]);
  });

  it.each<[CellStep, string]>([
    [{ action: "replace", cellId: "a", expected: "1", source: "2" }, "editable"],
    [{ action: "delete", cellId: "a", expected: "1" }, "deletable"],
  ])("does not change a locked cell: %j", (step, lock) => {
    const { shared, counts } = notebook(new Cell("a", "1", { [lock]: false }));
    expect(() => changeCells(shared, [step])).toThrow("read-only");
    expect(counts.steps).toBe(0);
  });

  it("does not change a cell whose id is not unique", () => {
    const { shared, counts } = notebook(new Cell("a", "1"), new Cell("a", "2"), new Cell("b", "3"));
    expect(() => changeCells(shared, [{ action: "delete", cellId: "a", expected: "1" }])).toThrow("More than one cell");
    expect(changeCells(shared, [{ action: "delete", cellId: "b", expected: "3" }])).toEqual([]);
    expect(counts.steps).toBe(1);
  });
});

describe("an exact change", () => {
  it("reports steps that are already done as conflicts", () => {
    const { shared, counts } = notebook(new Cell("a", "1"));
    const steps: CellStep[] = [
      { action: "delete", cellId: "gone", expected: "1" },
      { action: "replace", cellId: "a", source: "1", expected: "0" },
    ];
    expect(changeCells(shared, steps)).toEqual([]);
    expect(changeCells(shared, steps, true)).toEqual([
      { cellId: "gone", current: null },
      { cellId: "a", current: "1" },
    ]);
    expect(counts.steps).toBe(0);
  });
});

describe("moving a cell", () => {
  const three = () => notebook(new Cell("a", "1", {}, "code", ["one"]), new Cell("b", "2"), new Cell("c", "3"));
  const order = (shared: SharedNotebook): string => shared.cells.map(({ id }) => id).join("");

  it.each<[string, Partial<CellStep>, string]>([
    ["a", { below: "b" }, "bac"],
    ["a", { below: "c" }, "bca"],
    ["c", { below: null, index: 0 }, "cab"],
    ["c", { below: "a" }, "acb"],
    ["b", { below: "gone", index: 9 }, "acb"],
    ["b", { below: "a" }, "abc"],
  ])("%s to %j gives %s", (cellId, where, expected) => {
    const { shared } = three();
    expect(changeCells(shared, [{ action: "move", cellId, expected: null, ...where }])).toEqual([]);
    expect(order(shared)).toBe(expected);
    expect(shared.cells.find(({ id }) => id === "a")?.toJSON().outputs).toEqual(["one"]);
  });

  it("reports a conflict when the text differs or the cell is missing", () => {
    const { shared, counts } = three();
    const steps: CellStep[] = [
      { action: "move", cellId: "a", expected: "other", below: "c" },
      { action: "move", cellId: "z", expected: null, below: "c" },
    ];
    expect(changeCells(shared, steps)).toEqual([
      { cellId: "a", current: "1" },
      { cellId: "z", current: null },
    ]);
    expect(counts.steps).toBe(0);
  });
});

describe("a cell's type and tags", () => {
  const toMarkdown: CellStep = {
    ...{ action: "replace", cellId: "a", source: "1", expected: "1" },
    ...{ newKind: "markdown", expectedKind: "code" },
  };

  it("change in place; the outputs return when changed back", () => {
    const metadata = { tags: ["x"], trusted: true };
    const { shared } = notebook(new Cell("a", "1", metadata, "code", ["one"]), new Cell("b", "2"));
    expect(changeCells(shared, [toMarkdown])).toEqual([]);
    expect(shared.cells[0]).toMatchObject({ id: "a", cell_type: "markdown", metadata: { tags: ["x"] } });
    expect(shared.cells[0]?.getMetadata("trusted")).toBe(undefined);
    const back: CellStep = { ...toMarkdown, newKind: "code", expectedKind: "markdown" };
    expect(changeCells(shared, [back])).toEqual([]);
    expect(shared.cells[0]).toMatchObject({ cell_type: "code", outputs: ["one"], metadata });
  });

  it("are kept when they differ from the expected ones", () => {
    const { shared, counts } = notebook(new Cell("a", "1", { tags: ["mine"] }, "raw"));
    const tags: CellStep = {
      action: "replace",
      cellId: "a",
      source: "1",
      expected: "1",
      tags: ["x"],
      expectedTags: [],
    };
    for (const step of [toMarkdown, tags]) expect(changeCells(shared, [step])).toEqual([{ cellId: "a", current: "1" }]);
    expect(counts.steps).toBe(0);
    expect(changeCells(shared, [{ ...tags, expectedTags: null }])).toEqual([]);
    expect(shared.cells[0]?.getMetadata("tags")).toEqual(["x"]);
    expect(changeCells(shared, [{ ...tags, tags: [], expectedTags: ["x"] }])).toEqual([]);
    expect(shared.cells[0]?.getMetadata("tags")).toBe(undefined);
  });
});

describe("a deleted cell", () => {
  it("is restored with outputs and metadata if its text is the same", () => {
    const { shared } = notebook(new Cell("a", "1", { tags: ["x"], name: "n" }, "code", ["one"]), new Cell("b", "2"));
    const gone: CellStep = { action: "delete", cellId: "a", expected: "1" };
    changeCells(shared, [gone]);
    changeCells(shared, [{ action: "insert", cellId: "a", source: "1", index: 0 }]);
    expect(shared.cells[0]).toMatchObject({ id: "a", outputs: ["one"], metadata: { tags: ["x"], name: "n" } });
    changeCells(shared, [gone]);
    changeCells(shared, [{ action: "insert", cellId: "a", source: "other", index: 0 }]);
    expect(shared.cells[0]).toMatchObject({ source: "other", outputs: [] });
  });
});
