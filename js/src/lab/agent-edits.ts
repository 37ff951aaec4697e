/** Carries out an agent's permitted edits through the notebook's own model, each as one Undo step. */
import type { CellExecutor, NotebookPanel, SharedCell } from "@jupyterlab/notebook";
import { isObject } from "../state/object";
import type { CellConflict, CellStep } from "./cell-steps";
import { insertCell, replace, runCell } from "./edits";
import { part } from "./parts";

/** An edit that the kernel requests (agentnb/server/lab_messages.py: `EditParams`). */
export interface AgentEdit {
  id: string;
  action: "insert" | "replace" | "run" | "change" | "read" | "restart";
  cellId?: string | null;
  source?: string;
  /** The text that the cell must have, or its beginning. */
  expected?: string | null;
  expectedIsCut?: boolean;
  kind?: "code" | "markdown";
  wait?: boolean;
  steps?: CellStep[];
  /** True if a step that is already done is a conflict. */
  exact?: boolean;
  /** The file's SHA-256 as the page knows it, and now; set if the page has the file's content after the steps. */
  fileHashes?: readonly [string, string] | null;
}

/** The result of an edit (`EditedParams`). */
export interface Edited {
  id: string;
  number?: number;
  cellId?: string;
  outputs?: unknown[];
  /** The text that was replaced. */
  before?: string;
  conflicts?: CellConflict[];
  error?: string;
}

/** The event on the notebook's element after an agent, or an undo of its changes, has changed cells. */
export const EDITED = "agentnb-edited";
const READING = new Set(["read", "run"]);
const LONGEST_OUTPUT = 20_000;
const MOST_OUTPUTS = 200;
const LONGEST_TEXT = 1_000_000;

export class AgentEdits {
  readonly #panel: NotebookPanel;
  readonly #executor: CellExecutor | null;
  readonly #files: Files | undefined;
  readonly #steps: () => Promise<typeof import("./cell-steps")>;
  readonly #edited: (edit: AgentEdit, index: number, before?: string) => void;

  /** `edited` is called when a cell was inserted or replaced, with its index and old text. */
  constructor(
    panel: NotebookPanel,
    executor: CellExecutor | null,
    files?: Files,
    edited: (edit: AgentEdit, index: number, before?: string) => void = () => {},
    steps: () => Promise<typeof import("./cell-steps")> = () => part("cell-steps"),
  ) {
    this.#steps = steps;
    this.#panel = panel;
    this.#executor = executor;
    this.#files = files;
    this.#edited = edited;
  }

  /** Carries out an edit; a failure is in the result's `error`. */
  async perform(edit: AgentEdit): Promise<Edited> {
    try {
      const done = await this.#perform(edit);
      if (!READING.has(edit.action)) this.#panel.node.dispatchEvent(new Event(EDITED));
      return { id: edit.id, ...done };
    } catch (error) {
      return { id: edit.id, error: error instanceof Error ? error.message : String(error) };
    }
  }

  async #perform(edit: AgentEdit): Promise<Omit<Edited, "id">> {
    const { action, cellId, source = "", kind = "code", wait } = edit;
    const shared = this.#panel.content.model?.sharedModel;
    if (!shared) throw new Error("The notebook is no longer open.");
    if (action === "change") {
      const { changeCells } = await this.#steps();
      const conflicts = changeCells(shared, edit.steps ?? [], edit.exact);
      if (!conflicts.length && edit.fileHashes && this.#files)
        await takeAsLoaded(this.#panel.context, this.#files, edit.fileHashes);
      return { conflicts: conflicts.map(({ cellId, current }) => ({ cellId, current: messageText(current) ?? null })) };
    }
    if (action === "restart") {
      setTimeout(() => void this.#panel.sessionContext.restartKernel().catch(console.warn)); // the answer goes first
      return {};
    }
    const index = cellId ? placeOf(shared.cells, cellId) : shared.cells.length - 1;
    if (action === "insert") {
      insertCell(shared, index + 1, source, kind);
      this.#edited(edit, index + 1);
      return place(shared.cells[index + 1] as SharedCell, index + 1);
    }
    const cell = shared.cells[index];
    if (!cell) throw new Error("The notebook has no cells.");
    if (action === "read") {
      const before = messageText(cell.getSource());
      return before === undefined ? {} : { before };
    }
    if (action === "replace") {
      if (cell.getMetadata("editable") === false) throw new Error("The cell is read-only.");
      if (!isExpected(cell, edit.expected, edit.expectedIsCut)) return conflict(cell);
      const before = messageText(cell.getSource());
      replace(cell, source);
      this.#edited(edit, index, before);
      return { ...place(cell, index), ...(before === undefined ? {} : { before }) };
    }
    if (cell.cell_type !== "code") throw new Error("This isn't a code cell.");
    if (cell.getSource() !== source) return conflict(cell);
    const running = runCell(this.#panel, this.#executor, index);
    if (!wait) return place(cell, index); // the kernel exists: it sent the request
    if (!running) throw new Error("There is no kernel to run the cell.");
    await running;
    return { ...place(cell, index), outputs: outputsOf(cell) };
  }
}

/** Returns the index of the cell with an id; fails if two cells have the id. */
function placeOf(cells: readonly SharedCell[], id: string): number {
  const index = cells.findIndex((cell) => cell.id === id);
  if (index < 0) throw new Error("The cell is no longer in the notebook.");
  if (cells.some((cell, at) => at > index && cell.id === id))
    throw new Error("More than one cell of the notebook has this id, so it is not clear which is meant.");
  return index;
}

/** True if a cell has the text that the agent knows, or begins with it. */
function isExpected(cell: SharedCell, expected: string | null | undefined, isCut = false): boolean {
  if (typeof expected !== "string") return true;
  return isCut ? cell.getSource().startsWith(expected) : cell.getSource() === expected;
}

function conflict(cell: SharedCell): Omit<Edited, "id"> {
  const current = messageText(cell.getSource());
  return { conflicts: [{ cellId: cell.id, current: current ?? null }] };
}

/** A cell's text, unless it is too long for a message. */
const messageText = (text: string | null): string | undefined =>
  text === null || text.length > LONGEST_TEXT ? undefined : text;

const place = (cell: SharedCell, index: number): Omit<Edited, "id"> => ({ number: index + 1, cellId: cell.id });

/** Returns a cell's outputs, bounded: text, and only the type of other data. */
function outputsOf(cell: SharedCell): unknown[] {
  const { outputs } = cell.toJSON();
  return Array.isArray(outputs) ? outputs.slice(0, MOST_OUTPUTS).map(bounded) : [];
}

function bounded(output: unknown): unknown {
  if (!isObject(output)) return {};
  const { data, text, output_type, ename, evalue } = output;
  const kept = isObject(data)
    ? Object.entries(data).map(([kind, value]) => [kind, kind.startsWith("text/") ? cut(value) : ""])
    : [];
  return {
    output_type,
    ...(text === undefined ? {} : { text: cut(text) }),
    ...(isObject(data) ? { data: Object.fromEntries(kept) } : {}),
    ...(ename === undefined ? {} : { ename: cut(ename), evalue: cut(evalue) }),
  };
}

function cut(value: unknown): string {
  return (Array.isArray(value) ? value.join("") : String(value)).slice(0, LONGEST_OUTPUT);
}

/*
 * JupyterLab compares the file with the version that the page knows before each save, and asks if they differ
 * (docs/decisions/0092). If an agent wrote the file and the page has all of it, no question is needed.
 */

/** The Jupyter server's files. */
export interface Files {
  get(path: string, options: { content: boolean; hash?: boolean }): Promise<unknown>;
}

/** Private in JupyterLab, so each may be missing; JupyterLab then asks. */
interface Loaded {
  readonly contentsModel?: unknown;
  _updateContentsModel?: unknown;
}

/** Lets the page save over its file, if the page knows version `known` and the file is version `now` (SHA-256). */
async function takeAsLoaded(
  context: NotebookPanel["context"],
  files: Files,
  [known, now]: readonly [string, string],
): Promise<void> {
  try {
    const file = await files.get(context.path, { content: false, hash: true });
    const { contentsModel: loaded, _updateContentsModel: update } = context as Loaded;
    if (!isObject(file) || !isObject(loaded) || typeof update !== "function") return;
    const { hash, hash_algorithm, last_modified } = file;
    if (hash_algorithm !== "sha256" || hash !== now || loaded.hash !== known) return;
    update.call(context, { ...loaded, hash, hash_algorithm, last_modified });
  } catch (error) {
    console.warn("agentnb:", error);
  }
}
