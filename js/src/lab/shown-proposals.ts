/**
 * Shows the changes that agents propose in the cells of one notebook. Everything is drawn outside the notebook's model:
 * none of it can be saved, and all of it disappears when the permission request is answered or withdrawn.
 */
import type { Cell, NotebookPanel } from "@jupyterlab/notebook";
import { element } from "../element";
import { line } from "../view/plain";
import type { CellChange, CellProposal } from "../view/store";
import type { AgentEdit } from "./agent-edits";
import { type BarAction, CellBar, putAbove, readOnlyNote } from "./cell-bar";
import { CellDifference } from "./cell-difference";
import { around, byRank, CellMarks, type Drawn } from "./cell-marks";
import { ChangesBar } from "./changes-bar";
import { type AbsentCell, ShownChanges } from "./shown-changes";

const REVIEWED = "agentnb-reviewed";
const STALE = "agentnb-stale";
/** The time for an accepted change to arrive and still be run: an old request must not run a later change. */
const RUN_WITHIN = 30_000;

export interface Surroundings {
  isOpen(path: string): boolean;
  run(index: number): void;
  /** Shows the text of an absent cell in `parent`. Returns a function that removes it. */
  drawCell(parent: HTMLElement, cell: AbsentCell): () => void;
}

const GONE = "The cell is no longer in the notebook. Reject the change, or undo the deletion.";

type Answer = "accept" | "reject" | "run";

interface DrawnProposal extends Drawn {
  readonly proposal: CellProposal;
  readonly canRun: boolean;
  /** The reason why it cannot be accepted now; empty if it can. */
  obstacle: string;
  difference?: CellDifference;
}

export class ShownProposals extends CellMarks<DrawnProposal> {
  readonly #surroundings: Surroundings;
  readonly #paths: Set<string>;
  #proposals: readonly CellProposal[] = [];
  readonly #changes: ShownChanges;
  readonly #bar: ChangesBar;
  /** The change that *Next* and *Previous* start from. */
  #at: Drawn | undefined;
  /** Changes to run as soon as they are in their cells, with a deadline. */
  readonly #toRun: { proposal: CellProposal; until: number }[] = [];

  constructor(panel: NotebookPanel, surroundings: Surroundings) {
    super(panel);
    this.#surroundings = surroundings;
    this.#paths = new Set([panel.context.path]);
    this.#changes = new ShownChanges(panel, {
      isTaken: (cell) => [...this.drawn.values()].some((drawn) => drawn.cell === cell),
      isHere: (notebook, cellId) => this.#isHere({ notebook, cellId }),
      drawCell: surroundings.drawCell,
      drawn: () => this.#mark(),
    });
    this.#bar = new ChangesBar({
      keepAll: () => this.answerAll("accept"),
      undoAll: () => this.answerAll("reject"),
      step: (by) => this.step(by),
      leave: this.leave,
    });
    panel.context.pathChanged.connect(() => this.#paths.add(panel.context.path));
    panel.content.activeCellChanged.connect(() => this.#mark());
    panel.content.node.addEventListener("focusin", () => this.#mark());
    panel.disposed.connect(() => {
      this.#bar.remove();
      for (const proposal of this.#proposals) proposal.placed?.(undefined);
    });
  }

  /** Shows only these proposals. */
  show(proposals: readonly CellProposal[]): void {
    const known = new Map(this.#proposals.map((one) => [one.id, one]));
    this.#proposals = proposals.filter((one) => this.#isHere(one));
    const wanted = new Set(this.#proposals.map(({ id }) => id));
    for (const [id, one] of known) if (!wanted.has(id)) one.placed?.(undefined);
    this.draw();
    const fresh = this.#proposals.find(({ id }) => !known.has(id));
    if (fresh) this.#reveal(fresh.id);
  }

  goTo(id: string): void {
    const drawn = this.drawn.get(id);
    if (drawn) this.#goTo(drawn);
  }

  /** Shows only these changes, which were made without a question. */
  showChanges(changes: readonly CellChange[]): void {
    this.#changes.show(changes);
  }

  /** True if the cells show nothing at all. */
  get isIdle(): boolean {
    return this.isEmpty && this.#changes.isEmpty;
  }

  /** Answers the proposal of the active cell, else the first; without proposals, keeps or undoes a change likewise. */
  answer(how: Answer): void {
    const last = [...this.drawn.values()].find((one) => one === this.#at);
    const current = this.current ?? last ?? this.inOrder[0];
    if (current) this.#answer(current, how);
    else if (how !== "run") this.#changes.do(how === "accept" ? "keep" : "undo");
  }

  /** Goes to the next or previous change in the notebook, proposed or made. */
  step(by: 1 | -1): void {
    const all = this.#all;
    const next = around(all, this.#place(all), by);
    if (next) this.#goTo(next);
  }

  #goTo(drawn: Drawn): void {
    this.#at = drawn;
    const marks: CellMarks<Drawn> = this.#isProposal(drawn) ? (this as CellMarks<Drawn>) : this.#changes;
    marks.focus(drawn);
    void marks.scrollTo(drawn).then(() => {
      if (this.#at !== drawn || drawn.isEnded) return;
      const [first] = this.#isProposal(drawn) ? (drawn.difference?.changes ?? []) : [];
      if (first !== undefined && this.#isProposal(drawn)) drawn.difference?.scrollTo(first);
      marks.focus(drawn); // again: a cell outside the view may not have been in the document
      this.#mark();
    });
  }

  #isProposal(drawn: Drawn): drawn is DrawnProposal {
    return "proposal" in drawn;
  }

  /** All proposals and changes, in the notebook's order. */
  get #all(): Drawn[] {
    return [...this.ranked, ...this.#changes.ranked].sort(byRank).map(({ one }) => one);
  }

  /** Returns the index of the current one: focused, in the active cell, or last visited; -1 for none. */
  #place(all: readonly Drawn[]): number {
    const meant = this.#bar.hasFocus ? this.#at : (this.current ?? this.#changes.current ?? this.#at);
    return meant ? all.indexOf(meant) : -1;
  }

  /** Accepts all proposals and keeps all changes, or rejects and undoes them. */
  answerAll(how: "accept" | "reject"): void {
    for (const one of this.inOrder) this.#answer(one, how);
    this.#changes.doAll(how === "accept" ? "keep" : "undo");
  }

  /** Called after an agent's edit: greys old outputs, and runs the change if the user wanted that. */
  edited({ action, source = "" }: AgentEdit, index: number, before?: string): void {
    const cell = this.panel.content.widgets[index];
    if (!cell) return;
    if (action === "replace" && before !== undefined && before !== source) grey(cell, before);
    const now = Date.now();
    const at = this.#toRun.findIndex(
      ({ proposal, until }) =>
        until > now &&
        proposal.action === action &&
        proposal.newText === source &&
        (action === "insert" || proposal.cellId === cell.model.id),
    );
    if (at < 0) return;
    this.#toRun.splice(at, 1);
    this.#surroundings.run(index);
  }

  /** True if this notebook has or had the path, or has the cell and no other notebook is open at the path. */
  #isHere({ notebook, cellId }: { notebook: string; cellId?: string | undefined }): boolean {
    if (this.#paths.has(notebook)) return true;
    if (cellId === undefined || this.#surroundings.isOpen(notebook)) return false;
    return this.panel.content.model?.sharedModel.cells.some(({ id }) => id === cellId) ?? false;
  }

  /** Updates the class for the shortcuts, which work in a notebook with changes, and the bar over the notebook. */
  #mark(): void {
    const { node } = this.panel.content;
    node.classList.toggle(REVIEWED, !this.isIdle);
    const all = this.isIdle ? [] : this.#all;
    this.#bar.show(node, { total: all.length, at: this.#place(all), proposed: this.drawn.size });
  }

  protected override get hasChanges(): boolean {
    return this.#proposals.length > 0;
  }

  protected override draw(): void {
    const { content } = this.panel;
    const cells = new Map<string, Cell | undefined>();
    if (this.#proposals.length)
      for (const cell of content.widgets) cells.set(cell.model.id, cells.has(cell.model.id) ? undefined : cell);
    const wanted = new Map<string, [CellProposal, Cell]>();
    for (const proposal of this.#proposals) {
      const cell = proposal.cellId ? cells.get(proposal.cellId) : content.widgets.at(-1);
      if (cell) wanted.set(proposal.id, [proposal, cell]);
      else
        proposal.placed?.(proposal.cellId && !cells.has(proposal.cellId) ? { where: "", obstacle: GONE } : undefined);
    }
    this.drawAll(
      wanted,
      (drawn, [, cell]) => drawn.cell === cell,
      ([proposal, cell]) => this.#drawIn(cell, proposal),
    );
  }

  protected override onDrawn(): void {
    this.#changes.redraw();
    this.#mark();
  }

  #drawIn(cell: Cell, proposal: CellProposal): DrawnProposal {
    const { action, accept, kind = "code", newText } = proposal;
    const canRun = (action === "insert" || action === "replace") && kind === "code" && newText !== undefined;
    const run = canRun ? "; Ctrl+Alt+Enter also runs it" : "";
    const answers: BarAction[] = [
      {
        word: "Accept",
        title: `Accept the change (Ctrl+Alt+Y${run})`,
        isPrimary: true,
        run: () => this.#answer(drawn, "accept"),
        can: () => !drawn.obstacle && accept !== undefined,
      },
      { word: "Reject", title: "Reject the change (Ctrl+Alt+N)", run: () => this.#answer(drawn, "reject") },
    ];
    const bar = new CellBar(sentence(proposal) + readOnlyNote(this.panel), answers, this.leave);
    const drawn: DrawnProposal = { proposal, cell, bar, canRun, obstacle: "", isEnded: false, endings: [] };
    const tell = (): void => proposal.placed?.({ where: placeIn(cell, action), obstacle: drawn.obstacle });
    tell();
    cell.model.stateChanged.connect(tell); // its number may change
    drawn.endings.push(() => cell.model.stateChanged.disconnect(tell));
    void this.drawInto(drawn, undefined, () =>
      action === "insert" ? this.#newCell(drawn, bar) : this.#changedCell(drawn),
    );
    return drawn;
  }

  /** Shows a new cell below the cell that it would follow. */
  #newCell({ cell, proposal }: DrawnProposal, bar?: CellBar): () => void {
    const body = element("div", "agentnb-new-cell-text");
    const node = element("div", "agentnb-new-cell", ...(bar ? [bar.node] : []), body);
    cell.node.append(node);
    const text = proposal.action === "split" ? proposal.moreText : proposal.newText;
    const erase = this.#surroundings.drawCell(body, { kind: proposal.kind, text, label: "New cell" });
    return () => {
      erase();
      node.remove();
    };
  }

  #changedCell(drawn: DrawnProposal): () => void {
    const { bar, cell, proposal } = drawn;
    const { node, model, editor } = cell;
    const leave = putAbove(node, bar.node);
    const mark = `agentnb-proposed-${proposal.action === "delete" ? "delete" : "change"}`;
    node.classList.add(mark);
    const wasRendered = cell.rendered;
    if (proposal.newText !== undefined && editor) {
      if (wasRendered) cell.rendered = false; // the difference shows the source text
      drawn.difference = new CellDifference(editor.editor, proposal.newText);
    }
    const erase = [
      ...(proposal.action === "split" ? [this.#newCell(drawn)] : []),
      ...(proposal.action === "move" ? this.#target(proposal) : []),
      ...(proposal.others ?? []).flatMap((id) => this.#struck(id)),
    ];
    const check = (): void => {
      const why = obstacle(cell, proposal);
      drawn.obstacle = why;
      bar.update(why);
      proposal.placed?.({ where: placeIn(cell, proposal.action), obstacle: why });
    };
    check();
    model.contentChanged.connect(check);
    return () => {
      model.contentChanged.disconnect(check);
      leave();
      node.classList.remove(mark);
      drawn.difference?.remove();
      for (const end of erase) end();
      if (wasRendered) cell.rendered = true;
    };
  }

  /** Marks the place to which a cell would move. */
  #target({ below }: CellProposal): (() => void)[] {
    const { widgets } = this.panel.content;
    const cell = below ? this.#cell(below) : widgets[0];
    if (!cell) return [];
    const node = element("div", "agentnb-move-place", "The cell would be moved here.");
    if (below) cell.node.append(node);
    else cell.node.prepend(node);
    return [() => node.remove()];
  }

  /** Strikes through a cell that would disappear. */
  #struck(id: string): (() => void)[] {
    const cell = this.#cell(id);
    cell?.node.classList.add("agentnb-proposed-delete");
    return cell ? [() => cell.node.classList.remove("agentnb-proposed-delete")] : [];
  }

  #cell(id: string): Cell | undefined {
    return this.panel.content.widgets.find(({ model }) => model.id === id);
  }

  #answer({ proposal, bar, canRun, obstacle }: DrawnProposal, how: Answer): void {
    const { accept, reject } = proposal;
    if (!bar.isArmed) return;
    if (how === "reject") return reject?.();
    if (obstacle || !accept || (how === "run" && !canRun)) return;
    if (how === "run") this.#toRun.push({ proposal, until: Date.now() + RUN_WITHIN });
    accept();
  }

  /** A new cell follows the one that it is drawn in, whichever was proposed first. */
  protected override rank({ proposal }: DrawnProposal, index: number): [number, number] {
    return [index, Number(proposal.action === "insert")];
  }

  /** Scrolls to a proposal, unless the user is typing in another cell. */
  #reveal(id: string): void {
    const drawn = this.drawn.get(id);
    const typing = document.activeElement?.closest(".cm-content");
    if (!drawn || (typing && this.panel.node.contains(typing) && !drawn.cell.node.contains(typing))) return;
    void this.#show(drawn);
  }

  async #show(drawn: DrawnProposal): Promise<void> {
    await this.scrollTo(drawn);
    if (drawn.bar.node.isConnected) drawn.bar.node.scrollIntoView({ block: "nearest" });
  }
}

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

/** Returns a proposal's place, with the notebook's cell numbers. */
function placeIn({ model }: Cell, action: string): string {
  const count = model.sharedModel.execution_count;
  const cell = count ? `[${count}]` : "";
  return action === "insert" ? (cell ? `below ${cell}` : "in a new cell") : `in ${cell || "a cell"}`;
}

/** Returns why a proposal cannot be accepted as the cell is now; empty if it can. */
function obstacle({ model }: Cell, { action, oldText }: CellProposal): string {
  const { sharedModel } = model;
  const lock = action === "delete" ? "deletable" : "editable";
  if (action !== "move" && sharedModel.getMetadata(lock) === false) return "This cell is read-only.";
  if (oldText === undefined || sharedModel.getSource() === oldText) return "";
  return "You changed this cell after the agent read it. Reject the change, or undo yours.";
}

/** Greys the outputs of a cell whose text was replaced, until it has run or has its old text again. */
function grey(cell: Cell, before: string): void {
  const outputs = cell.outputArea?.model;
  if (!outputs?.length || cell.node.classList.contains(STALE)) return;
  cell.node.classList.add(STALE);
  const { model } = cell;
  const end = (): void => {
    cell.node.classList.remove(STALE);
    outputs.changed.disconnect(end);
    model.contentChanged.disconnect(check);
  };
  const check = (): void => {
    if (model.sharedModel.getSource() === before) end();
  };
  outputs.changed.connect(end);
  model.contentChanged.connect(check);
}
