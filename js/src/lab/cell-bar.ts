/** The toolbar of a proposed change in its cell: what is proposed, what answers it, and what goes to the next one. */
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
  readonly #timer: ReturnType<typeof setTimeout>;
  #isArmed = false;
  #obstacle = "";

  constructor(proposal: CellProposal, canRun: boolean, doings: Doings) {
    this.#proposal = proposal;
    const { node } = this;
    node.className = "agentnb-cell-bar";
    node.setAttribute("role", "toolbar");
    node.dataset.lmSuppressShortcuts = "true"; // Enter and Space press the button
    this.#said.textContent = sentence(proposal);
    node.setAttribute("aria-label", this.#said.textContent);
    this.#why.className = "agentnb-cell-bar-why";
    this.#why.setAttribute("role", "status");
    this.#accept = button("Accept", "agentnb-accept", () => doings.answer("accept"));
    this.#run = canRun ? button("Accept and run", "", () => doings.answer("run")) : undefined;
    this.#all = [
      button("Accept all", "", () => doings.answerAll("accept")),
      button("Reject all", "", () => doings.answerAll("reject")),
    ];
    const previous = button("↑", "", () => doings.step(-1));
    previous.setAttribute("aria-label", "Previous change");
    const next = button("↓", "", () => doings.step(1));
    next.setAttribute("aria-label", "Next change");
    const buttons = [
      this.#accept,
      ...(this.#run ? [this.#run] : []),
      button("Reject", "", () => doings.answer("reject")),
      ...this.#all,
      previous,
      next,
    ];
    for (const one of [previous, next]) one.title = one.getAttribute("aria-label") ?? "";
    node.append(this.#said, this.#why, ...buttons);
    node.addEventListener("keydown", (event) => {
      if (event.key === "Escape") doings.leave();
      else if (event.key === "ArrowRight" || event.key === "ArrowLeft") focusBeside(buttons, event.key);
      else return;
      event.preventDefault();
    });
    this.others = 0;
    this.#timer = setTimeout(() => {
      this.#isArmed = true;
      this.#update();
    }, INERT_FOR);
    this.#update();
  }

  get hasFocus(): boolean {
    return this.node.contains(document.activeElement);
  }

  /** How many other proposals there are in the notebook. */
  set others(others: number) {
    for (const one of this.#all) one.hidden = others === 0;
  }

  /** Why it cannot be accepted now; empty where it can. */
  set obstacle(why: string) {
    this.#obstacle = why;
    this.#update();
  }

  /** Whether it can be answered so now. */
  can(how: "accept" | "reject" | "run"): boolean {
    if (!this.#isArmed) return false;
    if (how === "reject") return this.#proposal.reject !== undefined;
    return !this.#obstacle && this.#proposal.accept !== undefined && (how === "accept" || this.#run !== undefined);
  }

  focus(): void {
    this.#accept.focus({ preventScroll: true });
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.node.remove();
  }

  #update(): void {
    this.#why.textContent = this.#obstacle;
    const disabled = String(!this.can("accept"));
    for (const one of [this.#accept, this.#run]) one?.setAttribute("aria-disabled", disabled); // still in the tab order
    this.node.dataset.armed = String(this.#isArmed);
  }
}

function focusBeside(buttons: readonly HTMLButtonElement[], key: "ArrowLeft" | "ArrowRight"): void {
  const shown = buttons.filter((one) => !one.hidden);
  const at = shown.indexOf(document.activeElement as HTMLButtonElement);
  shown[(at + (key === "ArrowRight" ? 1 : -1) + shown.length) % shown.length]?.focus();
}

function button(name: string, className: string, onClick: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = className;
  made.textContent = name;
  made.addEventListener("click", onClick);
  return made;
}
