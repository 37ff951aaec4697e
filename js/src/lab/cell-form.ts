/** A small text box above a cell's input, which becomes a status line once the text is sent. */
import type { Cell } from "@jupyterlab/notebook";
import { button, element } from "../element";
import { putAbove } from "./cell-bar";

export interface FormAction {
  readonly word: string;
  readonly isPrimary?: boolean;
  run(): void;
}

export interface Question {
  readonly label: string;
  readonly placeholder?: string;
  readonly value: string;
  /** The button's label; Enter does the same. An empty text is not sent. */
  readonly word: string;
  readonly more?: readonly FormAction[];
  done(text: string): void;
}

let forms = 0;

export class CellForm {
  readonly node = element("div", { class: "agentnb-cell-form", role: "group" });
  readonly #leave: () => void;
  #end: () => void = () => {};

  /** `leave` returns the focus to the cell; `onEscape` handles Escape. */
  constructor(cell: Cell, leave: () => void, onEscape: () => void) {
    this.#leave = leave;
    this.node.setAttribute("data-lm-suppress-shortcuts", "true");
    this.node.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.isComposing) return;
      event.preventDefault();
      event.stopPropagation();
      onEscape();
    });
    // Otherwise the cell and its editor take the focus.
    this.node.addEventListener("mousedown", (event) => event.stopPropagation());
    this.moveTo(cell);
  }

  /** Called when the notebook has drawn its cell again. */
  moveTo(cell: Cell): void {
    this.#end();
    this.#end = putAbove(cell.node, this.node);
  }

  ask({ label, placeholder = "", value, word, more = [], done }: Question): void {
    const id = `agentnb-cell-form-${++forms}`;
    const name = element("label", "", label);
    name.htmlFor = id;
    const box = element("textarea");
    Object.assign(box, { id, rows: 1, value, placeholder, maxLength: 10_000 });
    const send = (): void => {
      const text = box.value.trim();
      if (text) done(text);
      else box.focus();
    };
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      send();
    });
    const grow = (): void => {
      box.style.height = "auto";
      box.style.height = `${Math.min(box.scrollHeight, 160)}px`;
    };
    box.addEventListener("input", grow);
    this.#put("asks", label, name, box, button(word, send, "agentnb-accept"), ...more.map(buttonOf));
    this.node.scrollIntoView({ block: "nearest" });
    grow();
    box.focus({ preventScroll: true });
    box.select();
  }

  /** Shows a line of text with buttons; screen readers read it. */
  say(state: string, text: string, ...actions: readonly FormAction[]): void {
    const hadFocus = this.hasFocus;
    this.#put(state, "Edit of this cell", element("span", { role: "status" }, text), ...actions.map(buttonOf));
    if (hadFocus && state !== "works") this.focus();
    else if (hadFocus) this.#leave();
  }

  get state(): string {
    return this.node.dataset.state ?? "";
  }

  get hasFocus(): boolean {
    return this.node.contains(document.activeElement);
  }

  focus(): void {
    this.node.scrollIntoView({ block: "nearest" });
    this.node.querySelector<HTMLElement>("textarea, button")?.focus({ preventScroll: true });
  }

  dispose(): void {
    const hadFocus = this.hasFocus;
    this.#end();
    this.node.remove();
    if (hadFocus) this.#leave();
  }

  #put(state: string, label: string, ...children: readonly Node[]): void {
    this.node.dataset.state = state;
    this.node.setAttribute("aria-label", label);
    this.node.replaceChildren(...children);
  }
}

const buttonOf = ({ word, isPrimary, run }: FormAction): HTMLButtonElement =>
  button(word, run, isPrimary ? "agentnb-accept" : "");
