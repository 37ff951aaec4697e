/** *Add to Chat*: what the user means of the notebook, as mentions for the message box. */
import type { Cell, Notebook } from "@jupyterlab/notebook";
import type { Link } from "./link";
import { LONGEST_CELL, selectedText } from "./notebook-state";

/** What to add to a message. */
export interface Addition {
  /** What it is, for the user. */
  about: string;
  /** The mentions. */
  mentions(link: Pick<Link, "mentionOf">): Promise<string>;
}

/** Where it was asked for; absent: by shortcut or palette, so that what is selected is meant. */
export interface Place {
  cells?: readonly Cell[];
  output?: boolean;
  /** Where its context menu was opened: on a cell, or on a row of the variables that JupyterLab's debugger lists. */
  hit?: Element | undefined;
}

const MOST_NAMED = 10;
const SHORT_ID = 8;

/** What is meant: a variable, an output, cells that were pointed at, selected text, else the selected cells. */
export function addition(notebook: Notebook, { hit, output = false, ...place }: Place = {}): Addition | undefined {
  if (hit?.matches(".jp-TreeItem")) return named(hit);
  const cells = hit ? notebook.widgets.filter(({ node }) => node === hit) : place.cells;
  const selected = notebook.widgets.filter((cell) => notebook.isSelected(cell));
  const pointed = cells?.length === 1 && selected.includes(cells[0] as Cell) ? selected : cells;
  const [first] = cells ?? [];
  const count = first?.model.sharedModel.execution_count;
  if (output && first && count && isOnlyOne(notebook, first))
    return said(`The output of [${count}]`, `@output:${count}`);
  const active = notebook.activeCell;
  const text = active && (!pointed || pointed.includes(active)) ? selectedText(active) : "";
  if (active && text && !output)
    return {
      about: "The selected code",
      mentions: async (link) => `@${await link.mentionOf(active.model.id, text.slice(0, LONGEST_CELL))}`,
    };
  const meant = pointed ?? (selected.length > 0 ? selected : active ? [active] : []);
  if (meant.length === 0) return undefined;
  if (meant.length > MOST_NAMED) return said(`${meant.length} cells`, "@selection");
  const names = meant.map((cell) => mention(notebook, cell));
  return said(names.length === 1 ? "The cell" : `${names.length} cells`, names.join(" "));
}

const said = (about: string, mentions: string): Addition => ({ about, mentions: () => Promise.resolve(mentions) });

/** The variable in whose row, or in a row of whose parts, something is; undefined where it has no name that can be mentioned. */
function named(row: Element): Addition | undefined {
  const outer = row.parentElement?.closest(".jp-TreeItem");
  if (outer) return named(outer);
  const name = row.querySelector(".jp-DebuggerVariables-name")?.textContent ?? "";
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? said(`The variable ${name}`, `@${name}`) : undefined;
}

/** `@cell:3`; of a cell without a number of its own the beginning of its id. */
function mention(notebook: Notebook, cell: Cell): string {
  const { id, sharedModel } = cell.model;
  if (sharedModel.execution_count && isOnlyOne(notebook, cell)) return `@cell:${sharedModel.execution_count}`;
  const short = id.slice(0, SHORT_ID);
  return `@cell:${notebook.widgets.every(({ model }) => model.id === id || !model.id.startsWith(short)) ? short : id}`;
}

/** Whether no other cell has its number: that of a kernel before this one stays until the cell runs again. */
function isOnlyOne(notebook: Notebook, cell: Cell): boolean {
  const count = cell.model.sharedModel.execution_count;
  return notebook.widgets.every((other) => other === cell || other.model.sharedModel.execution_count !== count);
}
