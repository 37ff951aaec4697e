/** The toolbar of a change that was made in a cell: what it is, *Keep* and *Undo*, and what goes to the next one. */
import { line } from "../view/plain";
import type { CellChange } from "../view/store";
import { Arming, answerButton, barButton, leaveShortcuts, moveByKeys, together } from "./cell-bar";

export interface ChangeDoings {
  all(how: "keep" | "undo"): void;
  step(by: 1 | -1): void;
  /** It was kept or undone. */
  done(): void;
  /** The keyboard goes back to the notebook. */
  leave(): void;
}

export class ChangeBar {
  readonly node = document.createElement("div");
  readonly #change: CellChange;
  readonly #doings: ChangeDoings;
  readonly #why = document.createElement("span");
  readonly #keep: HTMLButtonElement;
  readonly #undo: HTMLButtonElement;
  readonly #all: HTMLButtonElement[];
  readonly #more: HTMLButtonElement[];
  readonly #arming: Arming;
  #isBusy = false;

  /** `note`: what else there is to know, in a sentence. */
  constructor(change: CellChange, doings: ChangeDoings, note: string) {
    this.#change = change;
    this.#doings = doings;
    const { node } = this;
    node.className = "agentnb-cell-bar";
    node.setAttribute("role", "toolbar");
    leaveShortcuts(node);
    const said = document.createElement("span");
    said.textContent = `The agent ${change.status} this cell.${about(change)}${note}`;
    node.setAttribute("aria-label", said.textContent);
    this.#why.className = "agentnb-cell-bar-why";
    this.#why.setAttribute("role", "status");
    this.#keep = answerButton("Keep", "agentnb-accept", () => void this.do("keep"));
    this.#undo = answerButton("Undo", "", () => void this.do("undo"));
    this.#undo.hidden = !change.isUndoable;
    const previous = barButton("↑", "", () => doings.step(-1), "Previous change");
    const next = barButton("↓", "", () => doings.step(1), "Next change");
    this.#all = [
      answerButton("Keep all", "", () => doings.all("keep")),
      answerButton("Undo all", "", () => doings.all("undo")),
    ];
    this.#more = [...this.#all, previous, next];
    const buttons = [this.#keep, this.#undo, ...this.#more];
    node.append(said, this.#why, ...buttons.slice(0, -2), together(previous, next));
    moveByKeys(node, buttons, () => doings.leave());
    this.others = 0;
    this.#arming = new Arming(node, () => this.#update());
    this.#update();
  }

  get hasFocus(): boolean {
    return this.node.contains(document.activeElement);
  }

  /** How many other changes the notebook shows. */
  set others(others: number) {
    for (const one of this.#more) one.hidden = others === 0;
  }

  focus(): void {
    if (this.node.isConnected) this.node.scrollIntoView({ block: "nearest" });
    this.#keep.focus({ preventScroll: true });
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

  /** Keeps or undoes the change, once the bar has been there for a moment. */
  async do(how: "keep" | "undo"): Promise<void> {
    if (!this.#arming.isDone || this.#isBusy || (how === "undo" && !this.#change.isUndoable)) return;
    this.#busy(true);
    const why = await this.#change[how]();
    this.#why.textContent = why;
    this.#busy(false);
    if (!why) this.#doings.done();
  }

  #busy(isBusy: boolean): void {
    this.#isBusy = isBusy;
    this.#update();
  }

  #update(): void {
    const disabled = String(this.#isBusy || !this.#arming.isDone);
    for (const one of [this.#keep, this.#undo, ...this.#all]) one.setAttribute("aria-disabled", disabled);
  }
}

const about = ({ about }: CellChange): string => (about ? ` ${line(about, 200)}` : "");
