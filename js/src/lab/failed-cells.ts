/** Finds the failed cells of a notebook, and adds buttons to the corner of their outputs. */
import type { Cell, NotebookPanel } from "@jupyterlab/notebook";
import { button, element } from "../element";

export type ErrorAction = "fix" | "explain";

/** The error in a cell's outputs (agentnb/server/lab_messages.py: `FailedParams`). */
export interface Failed {
  action: ErrorAction;
  cellId: string;
  count?: number;
  name: string;
  message: string;
  traceback: string;
}

const LONGEST = 20_000;
const LOOKED_AT = 20;
const CLASS = "agentnb-failed";
const BAR = "agentnb-error-actions";
const LABELS: Record<ErrorAction, string> = { fix: "Fix with agent", explain: "Explain" };
/** Errors that the user causes, or that say themselves what to do. */
const NO_FAILURES = new Set(["KeyboardInterrupt", "AgentInterrupted", "CancelledError"]);
const PROMPT = /^\s*%{1,2}agents?\b/;

/** Returns a cell's error; undefined if it shows none that an agent could fix. */
export function failureOf({ model, outputArea }: Cell, action: ErrorAction): Failed | undefined {
  const cell = model.sharedModel;
  const outputs = outputArea?.model;
  if (!outputs || PROMPT.test(cell.getSource())) return undefined;
  // Called for every output, so it reads only the last ones: threads write little after an error.
  for (let index = outputs.length - 1; index >= Math.max(0, outputs.length - LOOKED_AT); index--) {
    const output = outputs.get(index);
    if (output.type !== "error") continue;
    const { ename, evalue, traceback } = output.toJSON();
    if (NO_FAILURES.has(String(ename))) return undefined;
    return {
      action,
      cellId: cell.id,
      ...(cell.execution_count ? { count: cell.execution_count } : {}),
      name: String(ename).slice(0, LONGEST),
      message: String(evalue).slice(0, LONGEST),
      traceback: (Array.isArray(traceback) ? traceback : []).join("\n").slice(-LONGEST),
    };
  }
  return undefined;
}

export class FailedCells {
  readonly #panel: NotebookPanel;
  readonly #ask: (failed: Failed) => void;
  readonly #changed: () => void;
  readonly #followed = new WeakSet<Cell>();

  /** `changed` is called when a cell has failed, or no longer shows an error. */
  constructor(panel: NotebookPanel, ask: (failed: Failed) => void, changed: () => void) {
    this.#panel = panel;
    this.#ask = ask;
    this.#changed = changed;
    void panel.context.ready.then(() => {
      if (panel.isDisposed) return;
      panel.content.model?.cells.changed.connect(() => this.#follow());
      this.#follow();
    });
  }

  /** Asks the agent to fix or explain a cell's error; makes the cell active and focuses it. */
  ask(action: ErrorAction, cell: Cell | undefined): void {
    const failed = cell && failureOf(cell, action);
    if (!failed) return;
    this.#panel.content.activeCellIndex = this.#panel.content.widgets.indexOf(cell);
    this.#ask(failed);
    this.#panel.content.activate();
  }

  /** The active cell if it failed, else the last failed cell above it. */
  get current(): Cell | undefined {
    const { widgets, activeCellIndex } = this.#panel.content;
    return widgets.slice(0, activeCellIndex + 1).findLast((cell) => this.has(cell));
  }

  has(cell: Cell | null | undefined): boolean {
    return cell?.node.classList.contains(CLASS) ?? false;
  }

  /** Follows the outputs of new cells. */
  #follow(): void {
    for (const cell of this.#panel.content.widgets) {
      if (this.#followed.has(cell) || !cell.outputArea) continue;
      this.#followed.add(cell);
      cell.outputArea.model.changed.connect(() => this.#mark(cell));
      void cell.ready.then(() => this.#mark(cell)); // a cell that is out of sight is drawn later
    }
  }

  #mark(cell: Cell): void {
    if (cell.isDisposed) return;
    const failed = failureOf(cell, "fix") !== undefined;
    const bar = cell.node.querySelector(`.${BAR}`);
    if (failed !== this.has(cell)) {
      cell.node.classList.toggle(CLASS, failed);
      this.#changed();
    }
    if (!failed) bar?.remove();
    else if (!bar) cell.node.querySelector(".jp-Cell-outputWrapper")?.append(this.#bar(cell));
  }

  #bar(cell: Cell): HTMLElement {
    const buttons = (["fix", "explain"] as const).map((action) => button(LABELS[action], () => this.ask(action, cell)));
    const bar = element("div", { class: BAR, role: "group", label: "Error" }, ...buttons);
    bar.dataset.lmSuppressShortcuts = "true"; // Enter and Space press the button
    return bar;
  }
}
