/** The toolbar of a change in its cell: a description, and the buttons that answer it. */
import type { NotebookPanel } from "@jupyterlab/notebook";
import { button, element } from "../element";
import { INERT_FOR } from "../view/permission-answer";

const SUPPRESSED = "data-lm-suppress-shortcuts";
const BARS = ".agentnb-cell-bar, .agentnb-changes-bar";

export interface BarAction {
  readonly word: string;
  /** The tooltip, with the key. */
  readonly title: string;
  readonly isPrimary?: boolean;
  run(): void;
  /** True if the button can be used, once the bar is armed; absent if the button is never disabled. */
  can?(): boolean;
}

export class CellBar {
  readonly node = element("div", { class: "agentnb-cell-bar", role: "toolbar" });
  readonly #why = element("span", { class: "agentnb-cell-bar-why", role: "status" });
  readonly #buttons: ReadonlyMap<BarAction, HTMLButtonElement>;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `leave` returns the focus to the notebook. */
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

  /** False for the first moment: a click or key press was meant for the previous content. */
  get isArmed(): boolean {
    return this.node.dataset.armed === "true";
  }

  focus(): void {
    const [first] = this.#buttons.values();
    first?.focus({ preventScroll: true });
  }

  /** Called when the bar becomes visible. */
  appear(): void {
    clearTimeout(this.#timer);
    this.node.dataset.armed = "false";
    this.update();
    this.#timer = setTimeout(() => {
      this.node.dataset.armed = "true";
      this.update();
    }, INERT_FOR);
  }

  /** Disables the buttons that can't be used (they stay in the tab order), and shows why. */
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

/** Ignores the second click of a double click, which was meant for the previous bar. */
function buttonOf({ word, title, isPrimary, run }: BarAction): HTMLButtonElement {
  const made = button(word, ({ detail }) => detail < 2 && run(), isPrimary ? "agentnb-accept" : "");
  made.title = title;
  return made;
}

/**
 * Puts a bar above the input of a cell, and again when JupyterLab puts the input back in front of it, as it does with
 * cells that scroll into view. Returns a function that ends this.
 */
export function putAbove(cell: HTMLElement, bar: HTMLElement): () => void {
  const put = (): void => {
    const input = cell.querySelector(":scope > .jp-Cell-inputWrapper");
    // Does not check that the bar is connected: in a deleted cell it never is, and this would never end. Nor that it is
    // next to the input: two bars would displace each other forever.
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

/** Returns a note if the notebook's file is read-only, else "". */
export function readOnlyNote({ context }: NotebookPanel): string {
  if (context.contentsModel?.writable !== false) return "";
  return " Its file is read-only: save the notebook under another name to keep the change.";
}

/** Lets keys pressed with Alt through all bars, for the shortcuts of changes. */
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
    // JupyterLab moves the focus to the active cell at any key that reaches the notebook.
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
