import type { NotebookPanel } from "@jupyterlab/notebook";
import { describe, expect, it } from "vitest";
import { type Helpers, NotebookEdits, smallestEdit } from "../../src/lab/edits";

const applied = (before: string, after: string): string => {
  const { start, end, text } = smallestEdit(before, after);
  return before.slice(0, start) + text + before.slice(end);
};

describe("the smallest edit", () => {
  it.each([
    ["", ""],
    ["", "a"],
    ["a", ""],
    ["x = 1", "x = 100"],
    ["aaa", "aa"],
    ["aa", "aaa"],
    ["abc", "xyz"],
    ["a\nb\nc", "a\nB\nc"],
    ["😀", "😁"],
    ["x😀y", "x😁y"],
    ["😀😀", "😀"],
  ])("turns %j into %j", (before, after) => {
    expect(applied(before, after)).toBe(after);
  });

  it("changes only the text that differs", () => {
    expect(smallestEdit("x = 1\ny = 2\nz = 3", "x = 1\ny = 20\nz = 3")).toEqual({ start: 11, end: 11, text: "0" });
  });

  it("is empty when the texts are equal", () => {
    expect(smallestEdit("same", "same")).toEqual({ start: 4, end: 4, text: "" });
  });

  it("never splits a surrogate pair", () => {
    expect(smallestEdit("😀", "😁")).toEqual({ start: 0, end: 2, text: "😁" });
    expect(smallestEdit("\u{1F600}", "\u{1FA00}")).toEqual({ start: 0, end: 2, text: "\u{1FA00}" });
    expect(smallestEdit("a\u{10000}b", "a\u{10400}b")).toEqual({ start: 1, end: 3, text: "\u{10400}" });
  });
});

class Cell {
  constructor(
    readonly id: string,
    public source: string,
    readonly locked: Record<string, boolean> = {},
    readonly cell_type = "code",
  ) {}
  getSource = (): string => this.source;
  updateSource(start: number, end: number, value: string): void {
    this.source = this.source.slice(0, start) + value + this.source.slice(end);
  }
  getMetadata = (name: string): unknown => this.locked[name];
  toJSON = (): { outputs: unknown[] } => ({ outputs: [] });
}

/** A notebook's model as far as changes use it: `cells` stays the same until a transaction ends, as in JupyterLab. */
function notebook(...cells: Cell[]) {
  const counts = { steps: 0, captures: 0 };
  const now = [...cells];
  const shared = {
    cells: [...cells],
    undoManager: { stopCapturing: () => void counts.captures++ },
    transact: (change: () => void) => {
      counts.steps++;
      change();
      shared.cells = [...now];
    },
    insertCell: (index: number, model: unknown) => {
      if (index > now.length) throw new Error("Length exceeded!");
      const made = model as { id: string; source: string; cell_type: string };
      const cell = new Cell(made.id, made.source, {}, made.cell_type);
      now.splice(index, 0, cell);
      return cell;
    },
    deleteCell: (index: number) => void now.splice(index, 1),
  };
  return { shared, counts, texts: () => shared.cells.map(({ id, source }) => [id, source]) };
}

describe("running cells by their ids", () => {
  it("skips missing cells and Markdown cells", async () => {
    const { shared } = notebook(new Cell("a", "1"), new Cell("text", "# 2", {}, "markdown"), new Cell("b", "3"));
    const ran: unknown[] = [];
    const content = { model: { sharedModel: shared }, widgets: ["first", "second", "third"] };
    const panel = { content, sessionContext: { session: { kernel: {} } } } as unknown as NotebookPanel;
    const executor = { runCell: ({ cell }: { cell: unknown }) => Promise.resolve(ran.push(cell)) };
    const helpers = { executor, warn: () => {} } as unknown as Helpers;
    new NotebookEdits(panel, helpers).runCells(["b", "gone", "text", "a"]);
    expect(ran).toEqual(["third", "first"]);
  });

  it.each([
    [{ executionCount: 3, isDirty: false }, true],
    [{ executionCount: 3, isDirty: true }, false],
    [{ executionCount: null, isDirty: false }, false],
    [{ executionCount: null, isDirty: true, executionState: "running" }, true],
    [{ executionCount: null, isDirty: true, executionState: "idle" }, false],
  ])("hasRun() of a cell with %j is %s", (state, hasRun) => {
    const panel = { content: { widgets: [{ model: { id: "a", ...state } }] } } as unknown as NotebookPanel;
    const edits = new NotebookEdits(panel, {} as Helpers);
    expect([edits.hasRun("a"), edits.hasRun("gone")]).toEqual([hasRun, false]);
  });
});
