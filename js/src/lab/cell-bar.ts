/** The toolbar of a proposed change in its cell: what is proposed, what answers it, and what goes to the next one. */
import type { NotebookPanel } from "@jupyterlab/notebook";
import { line } from "../view/plain";
import type { CellProposal } from "../view/store";

/** For how many milliseconds the buttons do nothing, so that a click meant for something else answers nothing. */
const INERT_FOR = 500;

/** What is proposed, in a sentence. */
function sentence({ action, others, newKind, newTags, title }: CellProposal): string {
  switch (action) {
    case "insert":
      return "The agent proposes this new cell.";
    case "replace":
      return "The agent proposes to replace this cell.";
    case "delete":
      return "The agent proposes to delete this cell.";
    case "move":
      return "The agent proposes to move this cell to the marked place.";
    case "split":
      return "The agent proposes to split this cell in two.";
    case "merge":
      return `The agent proposes to merge this cell with the ${others?.length === 1 ? "next one" : `next ${others?.length}`}.`;
    case "type":
      return `The agent proposes to make this a ${newKind === "markdown" ? "Markdown" : line(newKind, 20)} cell.`;
    case "tags":
      return newTags?.length
        ? `The agent proposes these tags for this cell: ${line(newTags.join(", "), 200)}.`
        : "The agent proposes to remove this cell's tags.";
    default:
      return `The agent proposes: ${title}`;
  }
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

export interface Doings {
  answer(how: "accept" | "reject" | "run"): void;
  answerAll(how: "accept" | "reject"): void;
  step(by: 1 | -1): void;
  /** The keyboard goes back to the notebook. */
  leave(): void;
}

export class Bar {
  readonly node = document.createElement("div");
  readonly #proposal: CellProposal;
  readonly #said = document.createElement("span");
  readonly #why = document.createElement("span");
  readonly #accept: HTMLButtonElement;
  readonly #run: HTMLButtonElement | undefined;
  readonly #all: HTMLButtonElement[];
  readonly #more: HTMLButtonElement[];
  readonly #arming: Arming;
  #obstacle = "";

  /** `note`: what else there is to know, in a sentence. */
  constructor(proposal: CellProposal, canRun: boolean, doings: Doings, note = "") {
    this.#proposal = proposal;
    const { node } = this;
    node.className = "agentnb-cell-bar";
    node.setAttribute("role", "toolbar");
    leaveShortcuts(node);
    this.#said.textContent = sentence(proposal) + note;
    node.setAttribute("aria-label", this.#said.textContent);
    this.#why.className = "agentnb-cell-bar-why";
    this.#why.setAttribute("role", "status");
    this.#accept = answerButton("Accept", "agentnb-accept", () => doings.answer("accept"));
    this.#run = canRun ? answerButton("Accept and run", "", () => doings.answer("run")) : undefined;
    const previous = barButton("↑", "", () => doings.step(-1), "Previous change");
    const next = barButton("↓", "", () => doings.step(1), "Next change");
    this.#all = [
      answerButton("Accept all", "", () => doings.answerAll("accept")),
      answerButton("Reject all", "", () => doings.answerAll("reject")),
    ];
    this.#more = [...this.#all, previous, next];
    const buttons = [
      this.#accept,
      ...(this.#run ? [this.#run] : []),
      answerButton("Reject", "", () => doings.answer("reject")),
      ...this.#more,
    ];
    node.append(this.#said, this.#why, ...buttons.slice(0, -2), together(previous, next));
    moveByKeys(node, buttons, () => doings.leave());
    this.others = 0;
    this.#arming = new Arming(node, () => this.#update());
    this.#update();
  }

  get hasFocus(): boolean {
    return this.node.contains(document.activeElement);
  }

  /** How many other proposals there are in the notebook. */
  set others(others: number) {
    for (const one of this.#more) one.hidden = others === 0;
  }

  /** Why it cannot be accepted now; empty where it can. */
  set obstacle(why: string) {
    this.#obstacle = why;
    this.#update();
  }

  /** Whether it can be answered so now. */
  can(how: "accept" | "reject" | "run"): boolean {
    if (!this.#arming.isDone) return false;
    if (how === "reject") return this.#proposal.reject !== undefined;
    return !this.#obstacle && this.#proposal.accept !== undefined && (how === "accept" || this.#run !== undefined);
  }

  focus(): void {
    this.#accept.focus({ preventScroll: true });
  }

  /** It can be seen from now on. */
  appear(): void {
    this.#arming.begin();
    this.#update();
  }

  dispose(): void {
    this.#arming.stop();
    this.node.remove();
  }

  #update(): void {
    this.#why.textContent = this.#obstacle;
    const disabled = String(!this.can("accept"));
    for (const one of [this.#accept, this.#run]) one?.setAttribute("aria-disabled", disabled); // still in the tab order
    for (const one of this.#all) one.setAttribute("aria-disabled", String(!this.#arming.isDone));
  }
}

/** The time in which a new bar answers nothing: what is clicked or pressed then was meant for what was there before. */
export class Arming {
  readonly #bar: HTMLElement;
  readonly #done: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `done` is called at its end. */
  constructor(bar: HTMLElement, done: () => void) {
    this.#bar = bar;
    this.#done = done;
    this.begin();
  }

  get isDone(): boolean {
    return this.#bar.dataset.armed === "true";
  }

  /** Begins it, anew where the bar comes to be seen only now. */
  begin(): void {
    this.stop();
    this.#bar.dataset.armed = "false";
    this.#timer = setTimeout(() => {
      this.#bar.dataset.armed = "true";
      this.#done();
    }, INERT_FOR);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

const SUPPRESSED = "data-lm-suppress-shortcuts";

/** Keys in a bar are the bar's: Enter and Space press a button. */
export const leaveShortcuts = (bar: HTMLElement): void => bar.setAttribute(SUPPRESSED, "true");

/** Lets through from all bars what is pressed together with Alt, as the shortcuts for changes are. */
export function passShortcuts(): void {
  const listen = ({ altKey, target }: KeyboardEvent): void => {
    const bar = target instanceof Element && target.closest(".agentnb-cell-bar");
    if (bar) bar.toggleAttribute(SUPPRESSED, !altKey);
  };
  window.addEventListener("keydown", listen, { capture: true }); // before JupyterLab's own
}

/** Buttons that stay on one line. */
export function together(...buttons: HTMLElement[]): HTMLElement {
  const node = document.createElement("span");
  node.className = "agentnb-cell-bar-steps";
  node.append(...buttons);
  return node;
}

/** The arrow keys go from button to button, Escape leaves the bar. */
export function moveByKeys(bar: HTMLElement, buttons: readonly HTMLButtonElement[], leave: () => void): void {
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

/** A button that answers; not to the second click of a double click, which was meant for the bar that was here. */
export function answerButton(name: string, className: string, onClick: () => void): HTMLButtonElement {
  const made = barButton(name, className, () => {});
  made.addEventListener("click", ({ detail }) => {
    if (detail < 2) onClick();
  });
  return made;
}

/** A button of such a bar; `label` says what it does where its text is a sign. */
export function barButton(name: string, className: string, onClick: () => void, label = ""): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = className;
  made.textContent = name;
  made.title = label;
  if (label) made.setAttribute("aria-label", label);
  made.addEventListener("click", onClick);
  return made;
}
