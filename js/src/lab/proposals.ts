/** Hands what agents propose for a notebook's cells to the part that shows it, which is loaded when it is wanted. */
import type { CellChange, CellProposal } from "../view/store";
import type { AgentEdit } from "./agent-edits";
import type { ShownProposals } from "./shown-proposals";

export class Proposals {
  readonly #load: () => Promise<ShownProposals | undefined>;
  #shown: Promise<ShownProposals | undefined> | undefined;
  #latest: readonly CellProposal[] = [];
  #applied: readonly CellChange[] = [];

  constructor(load: () => Promise<ShownProposals | undefined>) {
    this.#load = load;
  }

  show(proposals: readonly CellProposal[]): void {
    this.#latest = proposals;
    if (proposals.length || this.#shown) this.#do((shown) => shown.show(this.#latest));
  }

  applied(changes: readonly CellChange[]): void {
    this.#applied = changes;
    if (changes.length || this.#shown) this.#do((shown) => shown.showChanges(this.#applied));
  }

  /** An agent's edit was done in the cell at `index`, which had the text `before`. */
  edited(edit: AgentEdit, index: number, before?: string): void {
    if (edit.action === "replace" || this.#shown) this.#do((shown) => shown.edited(edit, index, before));
  }

  #do(act: (shown: ShownProposals) => void): void {
    this.#shown ??= this.#load();
    this.#shown.then(
      (shown) => shown && act(shown),
      (error: unknown) => console.warn("agentnb:", error),
    );
  }
}
