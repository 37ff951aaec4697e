/**
 * The state of the notebook for the kernel: its cells in order, the active cell, and the selection in it.
 *
 * Bounded: in a big notebook, cells far from the active one come without their source, or not at all. A cell's source
 * is sent again only when it has changed (agentnb/server/messages.py: `NotebookParams`).
 */
import type { Cell, Notebook, NotebookPanel, SharedCell, Tracker } from "@jupyterlab/notebook";
import { tagsOf } from "./edits";

export const MOST_CELLS = 1_000;
export const LONGEST_CELL = 20_000;
export const LONGEST_NOTEBOOK = 200_000;
const MOST_TAGS = 50;
const LONGEST_TAG = 100;

export interface CellState {
  id: string;
  kind: string;
  count?: number;
  /** Absent if the kernel has it. */
  source?: string;
  cut?: boolean;
  /** Absent if the cell has none, or too many to send. */
  tags?: readonly string[];
  /** False if the metadata forbids it; otherwise absent. */
  editable?: false;
  deletable?: false;
}

export interface NotebookState {
  path: string;
  active?: string;
  /** The active cell's index in `cells`, if another cell has the same id. */
  activeAt?: number;
  selection?: string;
  /** The ids of the selected cells, if there are several. */
  selected?: string[];
  /** True if it has changes that are not in its file. */
  unsaved?: boolean;
  /** True if its file can't be written. */
  readOnly?: boolean;
  /** The number of cells before `cells`; absent for none. */
  first?: number;
  /** Absent if unchanged. */
  cells?: CellState[];
}

export function isOpenAt(tracker: Tracker, path: string): boolean {
  let isFound = false;
  tracker.forEach(({ context }) => {
    isFound ||= context.path === path;
  });
  return isFound;
}

/** Returns the index of the first cell to send. */
const firstNear = (length: number, active: number): number =>
  Math.max(0, Math.min(active - MOST_CELLS / 2, length - MOST_CELLS));

/** Returns the cells within bounds: those nearest to the active one (an index) get the space first. */
export function boundedCells(cells: readonly CellState[], active: number): CellState[] {
  const from = firstNear(cells.length, active);
  const near = cells.slice(from, from + MOST_CELLS).map((cell) => ({ ...cell }));
  const distance = (index: number): number => Math.abs(index + from - active);
  let room = LONGEST_NOTEBOOK;
  for (const index of [...near.keys()].sort((a, b) => distance(a) - distance(b))) {
    const cell = near[index] as CellState;
    const { source = "" } = cell;
    cell.source = source.slice(0, Math.min(LONGEST_CELL, room));
    room -= cell.source.length;
    if (cell.source.length < source.length) cell.cut = true;
  }
  return near;
}

/** Remembers the sent state, and omits unchanged parts from the next one. */
export class Difference {
  #sources = new Map<string, string>();
  #cells = "";

  of(state: NotebookState): NotebookState {
    const cells = state.cells ?? [];
    const all = JSON.stringify(cells);
    if (all === this.#cells) {
      const { cells: _, ...rest } = state;
      return rest;
    }
    this.#cells = all;
    const fresh = cells.map((cell) => (this.#sources.get(cell.id) === sourceKey(cell) ? withoutSource(cell) : cell));
    this.#sources = new Map(cells.map((cell) => [cell.id, sourceKey(cell)]));
    return { ...state, cells: fresh };
  }
}

const sourceKey = (cell: CellState): string => `${cell.cut ? "cut" : "all"} ${cell.source ?? ""}`;

function withoutSource({ source: _, ...cell }: CellState): CellState {
  return cell;
}

export function notebookState({ path, contentsModel }: NotebookPanel["context"], notebook: Notebook): NotebookState {
  const all = notebook.model?.sharedModel.cells ?? [];
  const at = Math.max(0, notebook.activeCellIndex);
  const first = firstNear(all.length, at);
  // Does not even read the text of the other cells: this runs after each pause in typing.
  const cells = all.slice(first, first + MOST_CELLS).map(stateOf);
  const active = notebook.activeCell;
  const selection = active && selectedText(active);
  const chosen = (notebook.widgets ?? []).filter((cell) => notebook.isSelected(cell)).slice(0, MOST_CELLS);
  const selected = chosen.map((cell) => cell.model.id);
  return {
    path,
    ...(active ? { active: active.model.id } : {}),
    ...(active && isDoubled(active.model.id, cells) ? { activeAt: at - first } : {}),
    ...(selection ? { selection } : {}),
    ...(selected.length > 1 ? { selected } : {}),
    ...(notebook.model?.dirty ? { unsaved: true } : {}),
    ...(contentsModel?.writable === false ? { readOnly: true } : {}),
    ...(first ? { first } : {}),
    cells: boundedCells(cells, at - first),
  };
}

const isDoubled = (id: string, cells: readonly CellState[]): boolean =>
  cells.filter((cell) => cell.id === id).length > 1;

function stateOf(cell: SharedCell): CellState {
  const tags = tagsOf(cell);
  const areTold = tags.length > 0 && tags.length <= MOST_TAGS && tags.every(({ length }) => length <= LONGEST_TAG);
  return {
    id: cell.id,
    kind: cell.cell_type,
    ...(cell.execution_count ? { count: cell.execution_count } : {}),
    source: cell.getSource(),
    ...(areTold ? { tags } : {}),
    ...(cell.getMetadata("editable") === false ? { editable: false } : {}),
    ...(cell.getMetadata("deletable") === false ? { deletable: false } : {}),
  };
}

export function selectedText({ editor, model }: Cell): string {
  if (!editor) return "";
  const { start, end } = editor.getSelection();
  const [from, to] = [editor.getOffsetAt(start), editor.getOffsetAt(end)].sort((a, b) => a - b);
  return model.sharedModel.getSource().slice(from, to).slice(0, LONGEST_CELL);
}
