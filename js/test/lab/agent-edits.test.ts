import type { CellExecutor, NotebookPanel } from "@jupyterlab/notebook";
import { describe, expect, it } from "vitest";
import { AgentEdits } from "../../src/lab/agent-edits";
import * as cellSteps from "../../src/lab/cell-steps";

const steps = async () => cellSteps;

class Cell {
  outputs: unknown[] = [];
  constructor(
    readonly id: string,
    public source: string,
    readonly cell_type = "code",
    readonly editable = true,
  ) {}
  getSource = (): string => this.source;
  updateSource(start: number, end: number, value: string): void {
    this.source = this.source.slice(0, start) + value + this.source.slice(end);
  }
  getMetadata = (name: string): unknown => (name === "editable" ? this.editable : undefined);
  toJSON = (): { outputs: unknown[] } => ({ outputs: this.outputs });
}

/** A notebook like JupyterLab's model, as far as edits use it; `runs` are the cells that were run. */
function notebook(cells: Cell[], { kernel = true, open = true } = {}) {
  const runs: string[] = [];
  const sharedModel = {
    cells,
    transact: (change: () => void) => change(),
    insertCell: (index: number, made: { source: string; cell_type: string }) => {
      cells.splice(index, 0, new Cell(`new-${index}`, made.source, made.cell_type));
    },
  };
  const panel = {
    node: new EventTarget(),
    content: { model: open ? { sharedModel } : null, widgets: cells },
    sessionContext: { session: kernel ? { kernel: {} } : null },
  } as unknown as NotebookPanel;
  const executor = {
    runCell: async ({ cell }: { cell: Cell }) => {
      runs.push(cell.id);
      cell.outputs = [
        { output_type: "stream", text: ["a\n", "b"] },
        { output_type: "display_data", data: { "image/png": "x".repeat(100_000), "text/plain": "Plot" } },
        { output_type: "error", ename: "E", evalue: "v", traceback: ["long"] },
      ];
      return true;
    },
  } as unknown as CellExecutor;
  return { edits: new AgentEdits(panel, executor, undefined, () => {}, steps), cells, runs };
}

/** The server's file has the hash `now`, the notebook was loaded with `loaded`; returns what the page concludes. */
function withFile(now: string, loaded: string | null = "old", more: object = {}) {
  const cells = [new Cell("a", "1")];
  const context = {
    path: "a.ipynb",
    contentsModel: { path: "a.ipynb", hash: loaded, last_modified: "before" },
    _updateContentsModel(this: unknown, model: never) {
      context.contentsModel = model;
    },
    ...more,
  };
  const sharedModel = { cells, transact: (change: () => void) => change() };
  const node = new EventTarget();
  const panel = { node, content: { model: { sharedModel }, widgets: cells }, context } as unknown as NotebookPanel;
  const get = async () => ({ hash: now, hash_algorithm: "sha256", last_modified: "after", content: null });
  return { edits: new AgentEdits(panel, null, { get }, () => {}, steps), context, cells };
}

const sources = (cells: Cell[]): string[] => cells.map((cell) => cell.source);

describe("cells of a notebook file that an agent wrote", () => {
  const change = (expected: string) => ({
    id: "1",
    action: "change" as const,
    steps: [{ action: "replace" as const, cellId: "a", source: "2", expected }],
    fileHashes: ["old", "new"] as const,
  });

  it("let the page save without a conflict", async () => {
    const { edits, context, cells } = withFile("new");
    expect(await edits.perform(change("1"))).toEqual({ id: "1", conflicts: [] });
    expect(sources(cells)).toEqual(["2"]);
    expect(context.contentsModel).toEqual({
      path: "a.ipynb",
      hash: "new",
      hash_algorithm: "sha256",
      last_modified: "after",
    });
  });

  it.each([
    ["the file has changed again", withFile("other"), "1"],
    ["the page loaded another version", withFile("new", "other"), "1"],
    ["the server has no hash", withFile("new", null), "1"],
    ["JupyterLab lacks the internal method", withFile("new", "old", { _updateContentsModel: undefined }), "1"],
    ["a cell differs from the expected text", withFile("new"), "0"],
  ])("leave the conflict to JupyterLab when %s", async (_, { edits, context }, expected) => {
    await edits.perform(change(expected));
    expect(context.contentsModel.last_modified).toBe("before");
  });
});

describe("an agent's edit", () => {
  it("inserts a cell below another or at the end", async () => {
    const { edits, cells } = notebook([new Cell("a", "1"), new Cell("b", "2")]);
    const below = await edits.perform({ id: "1", action: "insert", cellId: "a", source: "x" });
    expect(below).toEqual({ id: "1", number: 2, cellId: "new-1" });
    await edits.perform({ id: "2", action: "insert", source: "y", kind: "markdown" });
    expect(sources(cells)).toEqual(["1", "x", "2", "y"]);
    expect(cells[3]?.cell_type).toBe("markdown");
  });

  it("reads long cells whole, but not cells over the message limit", async () => {
    const { edits } = notebook([new Cell("a", "x".repeat(30_000)), new Cell("b", "x".repeat(1_000_001))]);
    expect((await edits.perform({ id: "1", action: "read", cellId: "a" })).before).toHaveLength(30_000);
    expect(await edits.perform({ id: "2", action: "read", cellId: "b" })).toEqual({ id: "2" });
  });

  it("replaces a cell's text but not in a read-only cell", async () => {
    const { edits, cells } = notebook([new Cell("a", "x = 1"), new Cell("b", "2", "code", false)]);
    expect(await edits.perform({ id: "1", action: "replace", cellId: "a", source: "x = 20" })).toMatchObject({
      number: 1,
      before: "x = 1",
    });
    const refused = await edits.perform({ id: "2", action: "replace", cellId: "b", source: "no" });
    expect(refused.error).toBe("The cell is read-only.");
    expect(sources(cells)).toEqual(["x = 20", "2"]);
  });

  it.each([
    ["the same text", { expected: "x = 1" }, true],
    ["the same beginning, when the agent knows only that", { expected: "x", expectedIsCut: true }, true],
    ["no expected text", {}, true],
    ["another text", { expected: "x = 2" }, false],
    ["a longer text", { expected: "x" }, false],
    ["another beginning", { expected: "y", expectedIsCut: true }, false],
  ])("replaces only text the agent knows, else reports a conflict: %s", async (_, known, done) => {
    const { edits, cells } = notebook([new Cell("a", "x = 1")]);
    const made = await edits.perform({ id: "1", action: "replace", cellId: "a", source: "new", ...known });
    expect(sources(cells)).toEqual([done ? "new" : "x = 1"]);
    expect(made.conflicts).toEqual(done ? undefined : [{ cellId: "a", current: "x = 1" }]);
  });

  it("changes several cells, or reports the cells with other text", async () => {
    const { edits, cells } = notebook([new Cell("a", "1")]);
    const steps = [{ action: "replace" as const, cellId: "a", expected: "1", source: "2" }];
    expect(await edits.perform({ id: "1", action: "change", steps })).toEqual({ id: "1", conflicts: [] });
    cells[0] = new Cell("a", "mine");
    const done = await edits.perform({ id: "2", action: "change", steps });
    expect(done).toEqual({ id: "2", conflicts: [{ cellId: "a", current: "mine" }] });
  });

  it("runs only the approved text and returns outputs without images", async () => {
    const { edits, runs } = notebook([new Cell("a", "x")]);
    const other = await edits.perform({ id: "1", action: "run", cellId: "a", source: "y", wait: true });
    expect(other).toEqual({ id: "1", conflicts: [{ cellId: "a", current: "x" }] });
    expect(runs).toEqual([]);
    const done = await edits.perform({ id: "2", action: "run", cellId: "a", source: "x", wait: true });
    expect(runs).toEqual(["a"]);
    expect(done.outputs).toEqual([
      { output_type: "stream", text: "a\nb" },
      { output_type: "display_data", data: { "image/png": "", "text/plain": "Plot" } },
      { output_type: "error", ename: "E", evalue: "v" },
    ]);
    expect(await edits.perform({ id: "3", action: "run", cellId: "a", source: "x", wait: false })).toEqual({
      id: "3",
      number: 1,
      cellId: "a",
    });
  });

  it.each([
    ["a missing cell", { action: "replace", cellId: "z" }, {}, /no longer in the notebook/],
    ["an id of two cells", { action: "replace", cellId: "twice" }, {}, /More than one cell/],
    ["a closed notebook", { action: "insert" }, { open: false }, /no longer open/],
    ["a Markdown cell", { action: "run", cellId: "m", source: "# m" }, {}, /isn't a code cell/],
    ["no kernel", { action: "run", cellId: "a", source: "x", wait: true }, { kernel: false }, /no kernel/],
  ] as const)("returns the reason when it fails: %s", async (_, edit, state, reason) => {
    const twice = [new Cell("twice", "1"), new Cell("twice", "2")];
    const { edits, runs } = notebook([new Cell("a", "x"), new Cell("m", "# m", "markdown"), ...twice], state);
    expect((await edits.perform({ id: "1", ...edit })).error).toMatch(reason);
    expect(runs).toEqual([]);
  });
});
