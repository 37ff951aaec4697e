/** The toolbar of a change in its cell: what it is, what answers it, and what goes to the next one. */
import type { NotebookPanel } from "@jupyterlab/notebook";
import { button, element } from "../element";
import { INERT_FOR } from "../view/permission-answer";

const SUPPRESSED = "data-lm-suppress-shortcuts";

export interface Moves {
  step(by: 1 | -1): void;
  /** The keyboard goes back to the notebook. */
  leave(): void;
}

export abstract class CellBar {
  readonly node = element("div", { class: "agentnb-cell-bar", role: "toolbar" });
  protected readonly why = element("span", { class: "agentnb-cell-bar-why", role: "status" });
  readonly #first: HTMLButtonElement | undefined;
  /** What is shown where the notebook has other bars. */
  readonly #more: readonly HTMLButtonElement[];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `answers` are for this change, `all` for those of all bars. */
  constructor(
    sentence: string,
    answers: readonly HTMLButtonElement[],
    all: readonly HTMLButtonElement[],
    { step, leave }: Moves,
  ) {
    const previous = button("↑", () => step(-1), { label: "Previous change" });
    const next = button("↓", () => step(1), { label: "Next change" });
    for (const one of [previous, next]) one.title = one.ariaLabel ?? "";
    this.#first = answers[0];
    this.#more = [...all, previous, next];
    this.node.setAttribute(SUPPRESSED, "true"); // Enter and Space press a button
    this.node.setAttribute("aria-label", sentence);
    // The two stay on one line.
    const steps = element("span", "agentnb-cell-bar-steps", previous, next);
    this.node.append(element("span", "", sentence), this.why, ...answers, ...all, steps);
    moveByKeys(this.node, [...answers, ...this.#more], leave);
    this.others = 0;
    this.#arm();
  }

  get hasFocus(): boolean {
    return this.node.contains(document.activeElement);
  }

  /** How many other bars the notebook shows. */
  set others(others: number) {
    for (const one of this.#more) one.hidden = others === 0;
  }

  focus(): void {
    this.#first?.focus({ preventScroll: true });
  }

  /** It can be seen from now on. */
  appear(): void {
    this.#arm();
    this.update();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.node.remove();
  }

  /** False for the first moment: what is clicked or pressed then was meant for what was there before. */
  protected get isArmed(): boolean {
    return this.node.dataset.armed === "true";
  }

  /** Says which buttons can be used now; they stay in the tab order. */
  protected abstract update(): void;

  #arm(): void {
    clearTimeout(this.#timer);
    this.node.dataset.armed = "false";
    this.#timer = setTimeout(() => {
      this.node.dataset.armed = "true";
      this.update();
    }, INERT_FOR);
  }
}

/** Says of buttons that they cannot be used, or that they can. */
export function disable(buttons: readonly HTMLButtonElement[], isDisabled: boolean): void {
  for (const one of buttons) one.setAttribute("aria-disabled", String(isDisabled));
}

/** A button that answers; not to the second click of a double click, which was meant for the bar that was here. */
export function answerButton(text: string, onClick: () => void, className = ""): HTMLButtonElement {
  return button(text, ({ detail }) => detail < 2 && onClick(), className);
}

/**
 * Puts a bar above the input of a cell, and again where JupyterLab puts the input back in front of it, as it does with
 * cells that come into sight; the result ends that.
 */
export function putAbove(cell: HTMLElement, bar: HTMLElement): () => void {
  const put = (): void => {
    const input = cell.querySelector(":scope > .jp-Cell-inputWrapper");
    if (!input && !bar.isConnected) cell.prepend(bar);
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
    if (event.key === "Escape") leave();
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") focusBeside(buttons, event.key);
    else return;
    event.preventDefault();
  });
}

function focusBeside(buttons: readonly HTMLButtonElement[], key: "ArrowLeft" | "ArrowRight"): void {
  const shown = buttons.filter((one) => !one.hidden);
  const at = shown.indexOf(document.activeElement as HTMLButtonElement);
  shown[(at + (key === "ArrowRight" ? 1 : -1) + shown.length) % shown.length]?.focus();
}
