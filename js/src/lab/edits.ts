/** The chat's edits of its notebook, through the notebook's own model: each is one Undo step. */
import type { CellExecutor, Notebook, NotebookPanel, SharedCell, SharedNotebook } from "@jupyterlab/notebook";
import type { NotebookActions, Origin } from "../view/store";

export type Kind = "code" | "markdown" | "raw";

export interface Edit {
  start: number;
  end: number;
  text: string;
}

/** Returns the smallest edit from `before` to `after`: cursors in the unchanged text stay where they are. */
export function smallestEdit(before: string, after: string): Edit {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start++;
  if (isHighSurrogate(before, start - 1)) start--;
  let tail = 0;
  while (tail < most - start && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  if (isLowSurrogate(before, before.length - tail)) tail--;
  return { start, end: before.length - tail, text: after.slice(start, after.length - tail) };
}

const isHighSurrogate = (text: string, at: number): boolean => /[\uD800-\uDBFF]/.test(text.charAt(at));
const isLowSurrogate = (text: string, at: number): boolean => /[\uDC00-\uDFFF]/.test(text.charAt(at));

export interface Helpers {
  executor: CellExecutor | null;
  /** Shows why something was not done. */
  warn(sentence: string): void;
  /** Called when the chat replaced a cell's code, which was `before`. */
  replaced(cell: SharedCell, before: string): void;
  placed?: Placed;
}

/** Called when code of an answer was put into a cell; `before` is its old text, null for a new cell. */
export type Placed = (cell: SharedCell, before: string | null, after: string, from: Origin) => void;

export class NotebookEdits implements NotebookActions {
  readonly #panel: NotebookPanel;
  readonly #helpers: Helpers;

  constructor(panel: NotebookPanel, helpers: Helpers) {
    this.#panel = panel;
    this.#helpers = helpers;
  }

  /** Adds a code cell below the active one and makes it active; returns its index. */
  insertBelow(source: string, from?: Origin): number | undefined {
    const { content } = this.#panel;
    const shared = content.model?.sharedModel;
    if (!shared) return undefined;
    const index = content.activeCell ? content.activeCellIndex + 1 : shared.cells.length;
    insertCell(shared, index, source);
    goTo(content, index);
    const cell = shared.cells[index];
    if (from && cell) this.#helpers.placed?.(cell, null, source, from);
    return index;
  }

  replaceActive(source: string, from?: Origin): void {
    const cell = this.#panel.content.activeCell?.model.sharedModel;
    if (cell?.cell_type !== "code") {
      this.#helpers.warn("The active cell isn't a code cell. The code was inserted in a new cell below it.");
      this.insertBelow(source, from);
    } else if (cell.getMetadata("editable") === false) {
      this.#helpers.warn("The active cell is read-only. Use “Insert below the active cell” instead.");
    } else {
      const before = cell.getSource();
      replace(cell, source);
      goTo(this.#panel.content, this.#panel.content.activeCellIndex);
      if (before === source) return;
      this.#helpers.replaced(cell, before);
      if (from) this.#helpers.placed?.(cell, before, source, from);
    }
  }

  run(source: string, from?: Origin): void {
    const index = this.insertBelow(source, from);
    if (index !== undefined && !runCell(this.#panel, this.#helpers.executor, index)) {
      this.#helpers.warn("The notebook has no kernel. The code was inserted in a new cell and not run.");
    }
  }

  runCells(ids: readonly string[]): void {
    const cells = this.#panel.content.model?.sharedModel.cells ?? [];
    for (const id of ids) {
      const index = cells.findIndex((cell) => cell.id === id && cell.cell_type === "code");
      if (index >= 0) void runCell(this.#panel, this.#helpers.executor, index);
    }
  }

  hasRun(id: string): boolean {
    const cell = this.#panel.content.widgets.find(({ model }) => model.id === id)?.model;
    return cell?.executionState === "running" || (!!cell?.executionCount && !cell.isDirty);
  }
}

export function cellOf(kind: Kind, source: string): Record<string, unknown> {
  const added = kind === "code" ? { metadata: { trusted: true }, outputs: [] } : { metadata: {} };
  return { cell_type: kind, source, ...added };
}

/** Inserts a cell at `index`, as one Undo step. */
export function insertCell(
  shared: SharedNotebook,
  index: number,
  source: string,
  kind: "code" | "markdown" = "code",
): void {
  shared.undoManager?.stopCapturing();
  shared.transact(() => {
    shared.insertCell(index, cellOf(kind, source));
  });
  shared.undoManager?.stopCapturing();
}

/** Runs the cell at `index`; resolves at its end, undefined without a kernel. The cell's output shows errors. */
export function runCell(
  { content, sessionContext }: NotebookPanel,
  executor: CellExecutor | null,
  index: number,
): Promise<unknown> | undefined {
  if (!executor || !sessionContext.session?.kernel) return undefined;
  const run = {
    cell: content.widgets[index],
    notebook: content.model,
    notebookConfig: content.notebookConfig,
    sessionContext,
    onCellExecuted: () => {},
    onCellExecutionScheduled: () => {},
  };
  return executor.runCell(run).catch(() => {});
}

/** Replaces a cell's text, as one Undo step. */
export function replace(cell: SharedCell, source: string): void {
  cell.undoManager?.stopCapturing();
  update(cell, source);
  cell.undoManager?.stopCapturing();
}

export function update(cell: SharedCell, source: string): void {
  const { start, end, text } = smallestEdit(cell.getSource(), source);
  cell.updateSource(start, end, text);
}

function goTo(notebook: Notebook, index: number): void {
  notebook.deselectAll();
  notebook.activeCellIndex = index;
  void notebook.scrollToItem?.(index, "smart").catch(() => {});
}

/** Returns a cell's tags; none if the metadata has anything else there. */
export function tagsOf(cell: SharedCell): string[] {
  const tags = cell.getMetadata("tags");
  return Array.isArray(tags) ? tags.filter((one): one is string => typeof one === "string") : [];
}
