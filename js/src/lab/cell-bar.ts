/** The toolbar of a change in its cell: what it is, and the two buttons that answer it. */
import type { NotebookPanel } from "@jupyterlab/notebook";
import { button, element } from "../element";
import { INERT_FOR } from "../view/permission-answer";

const SUPPRESSED = "data-lm-suppress-shortcuts";
const BARS = ".agentnb-cell-bar, .agentnb-changes-bar";

export interface BarAction {
  readonly word: string;
  /** With its key. */
  readonly title: string;
  readonly isPrimary?: boolean;
  run(): void;
  /** Whether it can be used, once the bar has been there for a moment; absent where the button never says that it cannot. */
  can?(): boolean;
}

export class CellBar {
  readonly node = element("div", { class: "agentnb-cell-bar", role: "toolbar" });
  readonly #why = element("span", { class: "agentnb-cell-bar-why", role: "status" });
  readonly #buttons: ReadonlyMap<BarAction, HTMLButtonElement>;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `leave`: the keyboard goes back to the notebook. */
  constructor(sentence: string, answers: readonly BarAction[], leave: () => void) {
    this.#buttons = new Map(answers.map((action) => [action, buttonOf(action)]));
    const buttons = [...this.#buttons.values()];
    this.node.setAttribute("aria-label", sentence);
    this.node.append(element("span", "", sentence), this.#why, ...buttons);
    makeToolbar(this.node, buttons, leave);
    this.appear();
  }

  get hasFocus(): boolean {
    return this.node.contains(document.activeElement);
  }

  /** False for the first moment: what is clicked or pressed then was meant for what was there before. */
  get isArmed(): boolean {
    return this.node.dataset.armed === "true";
  }

  focus(): void {
    const [first] = this.#buttons.values();
    first?.focus({ preventScroll: true });
  }

  /** It can be seen from now on. */
  appear(): void {
    clearTimeout(this.#timer);
    this.node.dataset.armed = "false";
    this.update();
    this.#timer = setTimeout(() => {
      this.node.dataset.armed = "true";
      this.update();
    }, INERT_FOR);
  }

  /** Says which buttons can be used now, which stay in the tab order, and why not. */
  update(why = this.#why.textContent): void {
    this.#why.textContent = why;
    for (const [{ can }, one] of this.#buttons)
      if (can) one.setAttribute("aria-disabled", String(!this.isArmed || !can()));
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.node.remove();
  }
}

/** Not for the second click of a double click, which was meant for the bar that was here. */
function buttonOf({ word, title, isPrimary, run }: BarAction): HTMLButtonElement {
  const made = button(word, ({ detail }) => detail < 2 && run(), isPrimary ? "agentnb-accept" : "");
  made.title = title;
  return made;
}

/**
 * Puts a bar above the input of a cell, and again where JupyterLab puts the input back in front of it, as it does with
 * cells that come into sight; the result ends that.
 */
export function putAbove(cell: HTMLElement, bar: HTMLElement): () => void {
  const put = (): void => {
    const input = cell.querySelector(":scope > .jp-Cell-inputWrapper");
    // Not asked: whether the bar is connected. A cell that was deleted is not, and would have it put for ever. Nor
    // whether it is next to the input: another bar may be, and the two would put themselves in turns.
    const isIn = bar.parentElement === cell;
    if (!input && !isIn) cell.prepend(bar);
    else if (input && !(isIn && bar.compareDocumentPosition(input) & Node.DOCUMENT_POSITION_FOLLOWING))
      input.before(bar);
  };
  put();
  const observer = new MutationObserver(put);
  observer.observe(cell, { childList: true });
  return () => observer.disconnect();
}

/** What to know of a notebook whose file cannot be written; "" where it can. */
export function readOnlyNote({ context }: NotebookPanel): string {
  if (context.contentsModel?.writable !== false) return "";
  return " Its file is read-only: save the notebook under another name to keep the change.";
}

/** Lets through from all bars what is pressed together with Alt, as the shortcuts for changes are. */
export function passShortcuts(): void {
  const listen = ({ altKey, target }: KeyboardEvent): void => {
    const bar = target instanceof Element && target.closest(BARS);
    if (bar) bar.toggleAttribute(SUPPRESSED, !altKey);
  };
  window.addEventListener("keydown", listen, { capture: true }); // before JupyterLab's own
}

/** Enter and Space press a button, the arrow keys go from button to button, Escape leaves the bar. */
export function makeToolbar(bar: HTMLElement, buttons: readonly HTMLButtonElement[], leave: () => void): void {
  bar.setAttribute(SUPPRESSED, "true");
  bar.addEventListener("keydown", (event) => {
    // At any key that reaches the notebook, JupyterLab takes the focus back to the active cell.
    if (!event.altKey || event.key === "Alt") event.stopPropagation();
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (event.key === "Escape") leave();
    else if (step) {
      const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
      buttons[(at + step + buttons.length) % buttons.length]?.focus();
    } else return;
    event.preventDefault();
  });
}
