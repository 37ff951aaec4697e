/**
 * What the kernel is told of the notebook: its cells in their order, the active one, and what is selected in it.
 *
 * Bounded: of a big notebook the cells far from the active one come without their source, then not at all. A cell's
 * source is sent once and again only when it has changed (agentnb/comm/messages.py: `NotebookParams`).
 */
import type { Cell, Notebook } from "@jupyterlab/notebook";

export const MOST_CELLS = 1_000;
export const LONGEST_CELL = 20_000;
export const LONGEST_NOTEBOOK = 200_000;

export interface CellState {
  id: string;
  kind: string;
  count?: number;
  /** Absent where the kernel has it. */
  source?: string;
  /** Whether `source` is not all of it. */
  cut?: boolean;
}

export interface NotebookState {
  path: string;
  active?: string;
  selection?: string;
  /** The ids of the selected cells, where they are several. */
  selected?: string[];
  /** Whether it has changes that are not in its file. */
  unsaved?: boolean;
  /** Absent where they are as they were. */
  cells?: CellState[];
}

export interface RawCell {
  id: string;
  kind: string;
  count: number | null | undefined;
  source: string;
}

/** The cells, within bounds: those nearest to the active one (by its index) have what room there is. */
export function boundedCells(cells: readonly RawCell[], active: number): CellState[] {
  const from = Math.max(0, Math.min(active - MOST_CELLS / 2, cells.length - MOST_CELLS));
  const near = cells.slice(from, from + MOST_CELLS);
  const bounded: CellState[] = near.map(({ id, kind, count }) => ({ id, kind, ...(count ? { count } : {}) }));
  const distance = (index: number): number => Math.abs(index + from - active);
  let room = LONGEST_NOTEBOOK;
  for (const index of [...near.keys()].sort((a, b) => distance(a) - distance(b))) {
    const source = near[index]?.source ?? "";
    const sent = source.slice(0, Math.min(LONGEST_CELL, room));
    room -= sent.length;
    Object.assign(bounded[index] as CellState, { source: sent }, sent.length < source.length ? { cut: true } : {});
  }
  return bounded;
}

/** Remembers what was sent, and leaves out of the next state what has not changed. */
export class Difference {
  #sources = new Map<string, string>();
  #cells = "";

  /** What to send of `state`. */
  of(state: NotebookState): NotebookState {
    const cells = state.cells ?? [];
    const all = JSON.stringify(cells);
    if (all === this.#cells) {
      const { cells: _, ...rest } = state;
      return rest;
    }
    this.#cells = all;
    const fresh = cells.map((cell) => (this.#sources.get(cell.id) === said(cell) ? withoutSource(cell) : cell));
    this.#sources = new Map(cells.map((cell) => [cell.id, said(cell)]));
    return { ...state, cells: fresh };
  }
}

const said = (cell: CellState): string => `${cell.cut ? "cut" : "all"} ${cell.source ?? ""}`;

function withoutSource({ source: _, ...cell }: CellState): CellState {
  return cell;
}

/** The notebook as it is now. */
export function notebookState(path: string, notebook: Notebook): NotebookState {
  const cells = (notebook.model?.sharedModel.cells ?? []).map((cell) => ({
    id: cell.id,
    kind: cell.cell_type,
    count: cell.execution_count,
    source: cell.getSource(),
  }));
  const active = notebook.activeCell;
  const selection = active && selectedText(active);
  const chosen = (notebook.widgets ?? []).filter((cell) => notebook.isSelected(cell)).slice(0, MOST_CELLS);
  const selected = chosen.map((cell) => cell.model.id);
  return {
    path,
    ...(active ? { active: active.model.id } : {}),
    ...(selection ? { selection } : {}),
    ...(selected.length > 1 ? { selected } : {}),
    ...(notebook.model?.dirty ? { unsaved: true } : {}),
    cells: boundedCells(cells, Math.max(0, notebook.activeCellIndex)),
  };
}

export function selectedText({ editor, model }: Cell): string {
  if (!editor) return "";
  const { start, end } = editor.getSelection();
  const [from, to] = [editor.getOffsetAt(start), editor.getOffsetAt(end)].sort((a, b) => a - b);
  return model.sharedModel.getSource().slice(from, to).slice(0, LONGEST_CELL);
}
