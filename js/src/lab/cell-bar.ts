/** The toolbar of a change in its cell: what it is, what answers it, and what goes to the next one. */
import type { NotebookPanel } from "@jupyterlab/notebook";
import { button, element } from "../element";
import { INERT_FOR } from "../view/permission-answer";

const SUPPRESSED = "data-lm-suppress-shortcuts";

export interface BarAction {
  readonly word: string;
  readonly isPrimary?: boolean;
  run(): void;
  /** Whether it can be used, once the bar has been there for a moment; absent where the button never says that it cannot. */
  can?(): boolean;
}

export interface Moves {
  step(by: 1 | -1): void;
  /** The keyboard goes back to the notebook. */
  leave(): void;
}

export class CellBar {
  readonly node = element("div", { class: "agentnb-cell-bar", role: "toolbar" });
  readonly #why = element("span", { class: "agentnb-cell-bar-why", role: "status" });
  readonly #buttons: ReadonlyMap<BarAction, HTMLButtonElement>;
  /** What is shown where the notebook has other bars. */
  readonly #more: readonly HTMLButtonElement[];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `answers` are for this change, `all` for those of all bars. */
  constructor(sentence: string, answers: readonly BarAction[], all: readonly BarAction[], { step, leave }: Moves) {
    this.#buttons = new Map([...answers, ...all].map((action) => [action, buttonOf(action)]));
    const buttons = [...this.#buttons.values()];
    const previous = button("↑", () => step(-1), { label: "Previous change" });
    const next = button("↓", () => step(1), { label: "Next change" });
    for (const one of [previous, next]) one.title = one.ariaLabel ?? "";
    this.#more = [...buttons.slice(answers.length), previous, next];
    this.node.setAttribute(SUPPRESSED, "true"); // Enter and Space press a button
    this.node.setAttribute("aria-label", sentence);
    // The two stay on one line.
    const steps = element("span", "agentnb-cell-bar-steps", previous, next);
    this.node.append(element("span", "", sentence), this.#why, ...buttons, steps);
    moveByKeys(this.node, [...buttons, previous, next], leave);
    this.others = 0;
    this.appear();
  }

  get hasFocus(): boolean {
    return this.node.contains(document.activeElement);
  }

  /** False for the first moment: what is clicked or pressed then was meant for what was there before. */
  get isArmed(): boolean {
    return this.node.dataset.armed === "true";
  }

  /** How many other bars the notebook shows. */
  set others(others: number) {
    for (const one of this.#more) one.hidden = others === 0;
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
function buttonOf({ word, isPrimary, run }: BarAction): HTMLButtonElement {
  return button(word, ({ detail }) => detail < 2 && run(), isPrimary ? "agentnb-accept" : "");
}

/**
 * Puts a bar above the input of a cell, and again where JupyterLab puts the input back in front of it, as it does with
 * cells that come into sight; the result ends that.
 */
export function putAbove(cell: HTMLElement, bar: HTMLElement): () => void {
  const put = (): void => {
    const input = cell.querySelector(":scope > .jp-Cell-inputWrapper");
    // Not asked: whether the bar is connected. A cell that was deleted is not, and would have it put for ever.
    if (!input && bar.parentElement !== cell) cell.prepend(bar);
    else if (input && input.previousElementSibling !== bar) input.before(bar);
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
    const bar = target instanceof Element && target.closest(".agentnb-cell-bar");
    if (bar) bar.toggleAttribute(SUPPRESSED, !altKey);
  };
  window.addEventListener("keydown", listen, { capture: true }); // before JupyterLab's own
}

/** The arrow keys go from button to button, Escape leaves the bar. */
function moveByKeys(bar: HTMLElement, buttons: readonly HTMLButtonElement[], leave: () => void): void {
  bar.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (event.key === "Escape") leave();
    else if (step) {
      const shown = buttons.filter((one) => !one.hidden);
      const at = shown.indexOf(document.activeElement as HTMLButtonElement);
      shown[(at + step + shown.length) % shown.length]?.focus();
    } else return;
    event.preventDefault();
  });
}
