/** One bar over the notebook for all changes in its cells: answers all at once, and goes to the next one. */
import { button, element } from "../element";
import { makeToolbar } from "./cell-bar";

export interface BarState {
  readonly total: number;
  /** The current change, from 0; -1 for none. */
  readonly at: number;
  /** The number of changes to be accepted. */
  readonly proposed: number;
}

interface BarHandlers {
  keepAll(): void;
  undoAll(): void;
  step(by: 1 | -1): void;
  /** Returns the focus to the notebook. */
  leave(): void;
}

export class ChangesBar {
  readonly #node = element("div", {
    class: "agentnb-changes-bar",
    role: "toolbar",
    label: "Changes by the agent in this notebook",
  });
  readonly #place = element("span", "agentnb-changes-bar-place");
  readonly #keep: HTMLButtonElement;
  readonly #undo: HTMLButtonElement;

  constructor({ keepAll, undoAll, step, leave }: BarHandlers) {
    // Ignores the second click of a double click.
    this.#keep = button("", ({ detail }) => detail < 2 && keepAll(), "agentnb-accept");
    this.#undo = button("", ({ detail }) => detail < 2 && undoAll());
    const previous = button("‹", () => step(-1), { label: "Previous change" });
    const next = button("›", () => step(1), { label: "Next change" });
    previous.title = "Previous change (Alt+Shift+F5)";
    next.title = "Next change (Alt+F5)";
    const buttons = [this.#keep, this.#undo, previous, next];
    this.#node.append(this.#place, ...buttons);
    makeToolbar(this.#node, buttons, leave);
    // JupyterLab moves a focus in the notebook outside its cells to the active cell.
    this.#node.addEventListener("focusin", (event) => event.stopPropagation());
  }

  get hasFocus(): boolean {
    return this.#node.contains(document.activeElement);
  }

  /** Shows the bar over `notebook`, before its cells in the tab order; a single change needs only its own buttons. */
  show(notebook: HTMLElement, { total, at, proposed }: BarState): void {
    if (total < 2) return this.#node.remove();
    const words = proposed ? (["Accept all", "Reject all"] as const) : (["Keep all", "Undo all"] as const);
    const made = total - proposed;
    const isMixed = proposed > 0 && made > 0;
    this.#place.textContent = at < 0 ? `${total} changes` : `${at + 1} of ${total}`;
    const keep = isMixed ? `Accept ${proposed} proposed, keep ${made} already made` : words[0];
    const undo = isMixed ? `Reject ${proposed} proposed, undo ${made} already made` : words[1];
    name(this.#keep, words[0], `${keep} (Ctrl+Alt+Shift+Y)`);
    name(this.#undo, words[1], `${undo} (Ctrl+Alt+Shift+N)`);
    if (this.#node.parentNode !== notebook) notebook.prepend(this.#node);
  }

  remove(): void {
    this.#node.remove();
  }
}

function name(one: HTMLButtonElement, word: string, title: string): void {
  one.textContent = word;
  one.title = title;
}
