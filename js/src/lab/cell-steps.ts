/**
 * Changes several cells as one Undo step: for tools that move, delete, split or merge cells, and for undo and redo of a
 * turn. A part that is loaded on demand.
 */
import type { SharedCell, SharedNotebook } from "@jupyterlab/notebook";
import { isObject } from "../state/object";
import { cellOf, type Kind, tagsOf, update } from "./edits";

/** One step (agentnb/server/lab_messages.py: `CellStep`). */
export interface CellStep {
  /**
   * `restore` brings back the outputs that `clear` removed, as long as this page is open. `outputs` replaces a cell's
   * outputs; the old ones belong to the cell's earlier text `source`, and return with it.
   */
  action: "insert" | "replace" | "delete" | "move" | "clear" | "restore" | "outputs";
  /** The cell's id; for `insert`, the new cell's. */
  cellId: string;
  /** For `insert`: the type. */
  kind?: Kind;
  /** For `replace`: the new type, and the type that the cell must have now. */
  newKind?: Kind | null;
  expectedKind?: Kind | null;
  /** The new text. */
  source?: string;
  /** The text that the cell must have now; null: any. */
  expected?: string | null;
  /** For `insert` and `replace`: the new tags, and the tags that the cell must have now. */
  tags?: string[] | null;
  expectedTags?: string[] | null;
  /** For `insert` and `move`: the cell above it, and the index if that cell is gone. */
  below?: string | null;
  index?: number;
  /** For `outputs`: in the notebook format. */
  outputs?: readonly unknown[] | null;
}

/** A cell that differs from a step's expectation. */
export interface CellConflict {
  cellId: string;
  /** The cell's text; null if there is no such cell. */
  current: string | null;
}

type CellJson = Record<string, unknown>;

/** Cells that steps removed from a notebook, by id and type: undo restores them with their outputs. */
const removed = new WeakMap<SharedNotebook, Map<string, CellJson>>();
const MOST_REMOVED = 200;

/**
 * Carries out all steps as one Undo step, or none: if a cell differs from a step's expectation, nothing changes, and
 * the conflicts are returned. A step that is already done is skipped, or a conflict with `exact`.
 */
export function changeCells(shared: SharedNotebook, steps: readonly CellStep[], exact = false): CellConflict[] {
  const named = new Set(steps.map(({ cellId }) => cellId));
  const cells = new Map<string, SharedCell>();
  for (const cell of shared.cells) {
    if (cells.has(cell.id) && named.has(cell.id))
      throw new Error("More than one cell of the notebook has this id, so it is not clear which is meant.");
    cells.set(cell.id, cell);
  }
  const conflicts: CellConflict[] = [];
  const todo: CellStep[] = [];
  for (const step of steps) {
    const cell = cells.get(step.cellId);
    if (!exact && isDone(cell, step)) continue;
    if (!isExpected(cell, step)) conflicts.push({ cellId: step.cellId, current: cell ? cell.getSource() : null });
    else if (cell && isLocked(cell, step.action)) throw new Error("The cell is read-only.");
    else todo.push(step);
  }
  if (conflicts.length || !todo.length) return conflicts;
  const managers = [shared.undoManager, ...todo.map(({ cellId }) => cells.get(cellId)?.undoManager)];
  for (const manager of managers) manager?.stopCapturing();
  const change = new Change(shared, cells);
  shared.transact(() => {
    for (const step of todo) change.do(step);
  });
  for (const manager of managers) manager?.stopCapturing();
  return [];
}

function isDone(cell: SharedCell | undefined, { action, source = "", newKind, tags }: CellStep): boolean {
  if (action === "move" || isOfOutputs(action)) return false; // its place is unknown before the other steps are done
  if (action === "delete") return !cell;
  if (cell?.getSource() !== source) return false;
  if (action === "insert") return true;
  return (!newKind || cell.cell_type === newKind) && (!tags || isSame(tagsOf(cell), tags));
}

function isExpected(
  cell: SharedCell | undefined,
  { action, expected = "", expectedKind, expectedTags }: CellStep,
): boolean {
  if (action === "insert" || !cell) return action === "insert" && !cell;
  if (expected !== null && cell.getSource() !== expected) return false;
  return (!expectedKind || cell.cell_type === expectedKind) && (!expectedTags || isSame(tagsOf(cell), expectedTags));
}

const isSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((one, index) => one === others[index]);

const isOfOutputs = (action: CellStep["action"]): boolean => ["clear", "restore", "outputs"].includes(action);

function isLocked(cell: SharedCell, action: CellStep["action"]): boolean {
  return (
    action !== "move" &&
    !isOfOutputs(action) &&
    cell.getMetadata(action === "delete" ? "deletable" : "editable") === false
  );
}

/** One change within its transaction; the notebook's own list of cells is stale until that ends. */
class Change {
  readonly #shared: SharedNotebook;
  readonly #cells: Map<string, SharedCell>;
  readonly #order: string[];

  constructor(shared: SharedNotebook, cells: Map<string, SharedCell>) {
    this.#shared = shared;
    this.#cells = cells;
    this.#order = shared.cells.map(({ id }) => id);
  }

  do(step: CellStep): void {
    const { action, cellId } = step;
    const at = this.#order.indexOf(cellId);
    if (action === "insert") this.#put(this.#place(step), inserted(this.#shared, step));
    else if (action === "delete") this.#take(at);
    else if (isOfOutputs(action)) changeOutputs(this.#shared, this.#cells.get(cellId) as SharedCell, step);
    else if (action === "move") {
      const cell = this.#take(at);
      this.#put(this.#place(step), cell);
    } else this.#replace(at, step);
  }

  #replace(at: number, { cellId, source = "", newKind, tags }: CellStep): void {
    const cell = this.#cells.get(cellId) as SharedCell;
    if (newKind && cell.cell_type !== newKind) {
      const { metadata, attachments } = this.#take(at);
      const step: CellStep = { action: "insert", cellId, kind: newKind, source, tags: tags ?? tagsIn(metadata) };
      const made = inserted(this.#shared, step);
      const { trusted: _, ...kept } = isObject(metadata) ? metadata : {};
      const extra = newKind !== "code" && attachments ? { attachments } : {};
      this.#put(at, { ...made, ...extra, metadata: { ...kept, ...(made.metadata as object) } });
      return;
    }
    update(cell, source);
    const outputs = outputsOf(this.#shared).get(`${cellId} ${source}`);
    if (outputs) show(cell, outputs);
    if (!tags) return;
    if (tags.length) cell.setMetadata("tags", tags);
    else cell.deleteMetadata("tags");
  }

  /** Returns the index for a cell that is not in the order. */
  #place({ below, index = 0 }: CellStep): number {
    const above = below ? this.#order.indexOf(below) : -1;
    return above < 0 ? Math.min(Math.max(index, 0), this.#order.length) : above + 1;
  }

  #put(at: number, cell: CellJson): void {
    const id = cell.id as string;
    this.#cells.set(id, this.#shared.insertCell(at, cell));
    this.#order.splice(at, 0, id);
  }

  #take(at: number): CellJson {
    const [id] = this.#order.splice(at, 1) as [string];
    const cell = this.#cells.get(id)?.toJSON() as CellJson;
    this.#shared.deleteCell(at);
    this.#cells.delete(id);
    keep(this.#shared, id, cell);
    return { ...cell, id };
  }
}

type Shown = readonly [outputs: unknown[], count: number | null];

/** Cleared outputs, by cell; and outputs of a cell's earlier or current text, by cell and text. */
const kept = new WeakMap<SharedNotebook, Map<string, Shown>>();

function outputsOf(shared: SharedNotebook): Map<string, Shown> {
  const all = kept.get(shared) ?? new Map<string, Shown>();
  kept.set(shared, all);
  return all;
}

function changeOutputs(shared: SharedNotebook, cell: SharedCell, { action, source = "", outputs }: CellStep): void {
  const all = outputsOf(shared);
  const currentOutputs = cell.toJSON().outputs;
  const now: Shown = [Array.isArray(currentOutputs) ? currentOutputs : [], cell.execution_count ?? null];
  if (action === "restore") return show(cell, all.get(cell.id) ?? now);
  const next: Shown = [action === "clear" ? [] : [...(outputs ?? [])], null];
  if (action === "clear") all.set(cell.id, now);
  else all.set(`${cell.id} ${source}`, now).set(`${cell.id} ${cell.getSource()}`, next);
  show(cell, next);
}

function show(cell: SharedCell, [outputs, count]: Shown): void {
  cell.setOutputs?.(outputs);
  cell.execution_count = count;
}

function keep(shared: SharedNotebook, id: string, cell: CellJson): void {
  const cells = removed.get(shared) ?? new Map<string, CellJson>();
  removed.set(shared, cells);
  const key = `${id} ${cell.cell_type}`;
  cells.delete(key);
  cells.set(key, cell);
  for (const oldest of [...cells.keys()].slice(0, -MOST_REMOVED)) cells.delete(oldest);
}

/** Returns the cell to insert: a removed one with the same text returns with its outputs. */
function inserted(shared: SharedNotebook, { cellId, kind = "code", source = "", tags }: CellStep): CellJson {
  const kept = removed.get(shared)?.get(`${cellId} ${kind}`);
  const text = Array.isArray(kept?.source) ? kept.source.join("") : kept?.source;
  const cell = kept && text === source ? kept : cellOf(kind, source);
  const metadata = isObject(cell.metadata) ? cell.metadata : {};
  return { ...cell, id: cellId, metadata: { ...metadata, ...(tags ? { tags } : {}) } };
}

function tagsIn(metadata: unknown): string[] | null {
  return isObject(metadata) && Array.isArray(metadata.tags) ? metadata.tags.map(String) : null;
}
