/** The toolbar of a change that was made in a cell: *Keep*, *Undo*, and the same for all. */
import { line } from "../view/plain";
import type { CellChange } from "../view/store";
import { answerButton, CellBar, disable, type Moves } from "./cell-bar";

export interface ChangeDoings extends Moves {
  all(how: "keep" | "undo"): void;
  /** It was kept or undone. */
  done(): void;
}

export class ChangeBar extends CellBar {
  readonly #change: CellChange;
  readonly #doings: ChangeDoings;
  readonly #buttons: readonly HTMLButtonElement[];
  #isBusy = false;

  /** `note`: what else there is to know, in a sentence. */
  constructor(change: CellChange, doings: ChangeDoings, note: string) {
    const keep = answerButton("Keep", () => void this.do("keep"), "agentnb-accept");
    const undo = answerButton("Undo", () => void this.do("undo"));
    const all = [
      answerButton("Keep all", () => doings.all("keep")),
      answerButton("Undo all", () => doings.all("undo")),
    ];
    const about = change.about ? ` ${line(change.about, 200)}` : "";
    super(`The agent ${change.status} this cell.${about}${note}`, [keep, undo], all, doings);
    undo.hidden = !change.isUndoable;
    this.#change = change;
    this.#doings = doings;
    this.#buttons = [keep, undo, ...all];
    this.update();
  }

  override focus(): void {
    if (this.node.isConnected) this.node.scrollIntoView({ block: "nearest" });
    super.focus();
  }

  /** Keeps or undoes the change, once the bar has been there for a moment. */
  async do(how: "keep" | "undo"): Promise<void> {
    if (!this.isArmed || this.#isBusy || (how === "undo" && !this.#change.isUndoable)) return;
    this.#busy(true);
    const why = await this.#change[how]();
    this.why.textContent = why;
    this.#busy(false);
    if (!why) this.#doings.done();
  }

  #busy(isBusy: boolean): void {
    this.#isBusy = isBusy;
    this.update();
  }

  protected override update(): void {
    disable(this.#buttons, this.#isBusy || !this.isArmed);
  }
}
