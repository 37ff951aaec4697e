/** Passes agents' proposals for a notebook's cells to the part that shows them, which is loaded on demand. */
import type { SharedCell } from "@jupyterlab/notebook";
import type { CellChange, CellProposal } from "../view/store";
import type { AgentEdit } from "./agent-edits";
import { replace } from "./edits";
import type { ShownProposals } from "./shown-proposals";

export class Proposals {
  readonly #load: () => Promise<ShownProposals | undefined>;
  #view: Promise<ShownProposals | undefined> | undefined;
  #latest: readonly CellProposal[] = [];
  #applied: readonly CellChange[] = [];
  /** Cells that the user replaced with code from the chat, by id. */
  readonly #replaced = new Map<string, CellChange>();

  constructor(load: () => Promise<ShownProposals | undefined>) {
    this.#load = load;
  }

  show(proposals: readonly CellProposal[]): void {
    this.#latest = proposals;
    if (proposals.length || this.#view) this.#do((view) => view.show(this.#latest));
  }

  applied(changes: readonly CellChange[]): void {
    this.#applied = changes;
    if (changes.length || this.#view) this.#showChanges();
  }

  /** Called when the user replaced a cell's code, which was `before`; it can be undone like an agent's. */
  replaced(cell: SharedCell, before: string, sentence = "Replaced with code from the chat."): void {
    const { id } = cell;
    const after = cell.getSource();
    const forget = (): string => {
      this.#replaced.delete(id);
      return "";
    };
    const undo = (): string => {
      if (cell.getSource() !== after) return "You changed this cell since. Use Undo in the notebook.";
      replace(cell, before);
      return forget();
    };
    this.#replaced.set(id, {
      id: `replaced ${id} ${Date.now()}`,
      cellId: id,
      notebook: undefined,
      status: "changed",
      sentence,
      about: "",
      isUndoable: true,
      place: undefined,
      before: async () => before,
      keep: async () => forget(),
      undo: async () => undo(),
    });
    this.#showChanges();
  }

  #showChanges(): void {
    this.#do((view) => view.showChanges([...this.#applied, ...this.#replaced.values()]));
  }

  goTo(id: string): void {
    this.#do((view) => view.goTo(id));
  }

  /** Called after an agent's edit of the cell at `index`, which had the text `before`. */
  edited(edit: AgentEdit, index: number, before?: string): void {
    if (edit.action === "replace" || this.#view) this.#do((view) => view.edited(edit, index, before));
  }

  #do(act: (view: ShownProposals) => void): void {
    this.#view ??= this.#load();
    this.#view.then(
      (view) => view && act(view),
      (error: unknown) => console.warn("agentnb:", error),
    );
  }
}
