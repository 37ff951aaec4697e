/** The toolbar of a proposed change: *Accept*, *Reject*, and the same for all. */
import { line } from "../view/plain";
import type { CellProposal } from "../view/store";
import { answerButton, CellBar, disable, type Moves } from "./cell-bar";

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

export interface Doings extends Moves {
  answer(how: "accept" | "reject" | "run"): void;
  answerAll(how: "accept" | "reject"): void;
}

export class ProposalBar extends CellBar {
  readonly #proposal: CellProposal;
  /** *Accept*, and *Accept and run* where that can be. */
  readonly #accept: readonly HTMLButtonElement[];
  readonly #all: readonly HTMLButtonElement[];
  #obstacle = "";

  /** `note`: what else there is to know, in a sentence. */
  constructor(proposal: CellProposal, canRun: boolean, doings: Doings, note = "") {
    const accept = [
      answerButton("Accept", () => doings.answer("accept"), "agentnb-accept"),
      ...(canRun ? [answerButton("Accept and run", () => doings.answer("run"))] : []),
    ];
    const reject = answerButton("Reject", () => doings.answer("reject"));
    const all = [
      answerButton("Accept all", () => doings.answerAll("accept")),
      answerButton("Reject all", () => doings.answerAll("reject")),
    ];
    super(sentence(proposal) + note, [...accept, reject], all, doings);
    this.#proposal = proposal;
    this.#accept = accept;
    this.#all = all;
    this.update();
  }

  /** Why it cannot be accepted now; empty where it can. */
  set obstacle(why: string) {
    this.#obstacle = why;
    this.update();
  }

  /** Whether it can be answered so now. */
  can(how: "accept" | "reject" | "run"): boolean {
    if (!this.isArmed) return false;
    if (how === "reject") return this.#proposal.reject !== undefined;
    return !this.#obstacle && this.#proposal.accept !== undefined && (how === "accept" || this.#accept.length > 1);
  }

  protected override update(): void {
    this.why.textContent = this.#obstacle;
    disable(this.#accept, !this.can("accept"));
    disable(this.#all, !this.isArmed);
  }
}
