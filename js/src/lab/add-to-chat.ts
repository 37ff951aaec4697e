/** *Add to Chat*: turns the user's selection in the notebook into mentions for the message box. */
import type { Cell, Notebook } from "@jupyterlab/notebook";
import type { Link } from "./link";
import { LONGEST_CELL, selectedText } from "./notebook-state";

export interface Addition {
  /** A description for the user. */
  about: string;
  mentions(link: Pick<Link, "mentionOf">): Promise<string>;
}

/** The place of the command; without it (shortcut or palette), the selection is added. */
export interface CommandTarget {
  cells?: readonly Cell[];
  output?: boolean;
  /** The element under the context menu: a cell, or a row in the debugger's list of variables. */
  hit?: Element | undefined;
}

const MOST_NAMED = 10;
const SHORT_ID = 8;

/** Returns what to add: a variable, an output, the cells at `place`, selected text, or the selected cells. */
export function addition(
  notebook: Notebook,
  { hit, output = false, ...place }: CommandTarget = {},
): Addition | undefined {
  if (hit?.matches(".jp-TreeItem")) return named(hit);
  const cells = hit ? notebook.widgets.filter(({ node }) => node === hit) : place.cells;
  const selected = notebook.widgets.filter((cell) => notebook.isSelected(cell));
  const pointed = cells?.length === 1 && selected.includes(cells[0] as Cell) ? selected : cells;
  const [first] = cells ?? [];
  const count = first?.model.sharedModel.execution_count;
  if (output && first && count && isOnlyOne(notebook, first))
    return additionOf(`The output of [${count}]`, `@output:${count}`);
  const active = notebook.activeCell;
  const text = active && (!pointed || pointed.includes(active)) ? selectedText(active) : "";
  if (active && text && !output)
    return {
      about: "The selected code",
      mentions: async (link) => `@${await link.mentionOf(active.model.id, text.slice(0, LONGEST_CELL))}`,
    };
  const meant = pointed ?? (selected.length > 0 ? selected : active ? [active] : []);
  if (meant.length === 0) return undefined;
  if (meant.length > MOST_NAMED) return additionOf(`${meant.length} cells`, "@selection");
  const names = meant.map((cell) => mention(notebook, cell));
  return additionOf(names.length === 1 ? "The cell" : `${names.length} cells`, names.join(" "));
}

const additionOf = (about: string, mentions: string): Addition => ({
  about,
  mentions: () => Promise.resolve(mentions),
});

/** Returns the variable of a row, or of the row that contains it; undefined if its name can't be mentioned. */
function named(row: Element): Addition | undefined {
  const outer = row.parentElement?.closest(".jp-TreeItem");
  if (outer) return named(outer);
  const name = row.querySelector(".jp-DebuggerVariables-name")?.textContent ?? "";
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? additionOf(`The variable ${name}`, `@${name}`) : undefined;
}

/** Returns `@cell:3`, or the beginning of the id if the cell's number is missing or not unique. */
function mention(notebook: Notebook, cell: Cell): string {
  const { id, sharedModel } = cell.model;
  if (sharedModel.execution_count && isOnlyOne(notebook, cell)) return `@cell:${sharedModel.execution_count}`;
  const short = id.slice(0, SHORT_ID);
  return `@cell:${notebook.widgets.every(({ model }) => model.id === id || !model.id.startsWith(short)) ? short : id}`;
}

/** True if no other cell has its number: a number from an earlier kernel stays until the cell runs again. */
function isOnlyOne(notebook: Notebook, cell: Cell): boolean {
  const count = cell.model.sharedModel.execution_count;
  return notebook.widgets.every((other) => other === cell || other.model.sharedModel.execution_count !== count);
}
