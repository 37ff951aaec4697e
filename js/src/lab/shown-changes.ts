/**
 * The changes of cells that were made without a question, shown in the cells of one notebook until the user keeps or
 * undoes them; deleted cells struck where they were. Everything is drawn beside the notebook's model: none of it can be
 * saved.
 */
import type { Cell, NotebookPanel } from "@jupyterlab/notebook";
import { element } from "../element";
import type { CellChange } from "../view/store";
import { putAbove, readOnlyNote } from "./cell-bar";
import { CellDifference } from "./cell-difference";
import { CellMarks, type Drawn } from "./cell-marks";
import { ChangeBar, type ChangeDoings } from "./change-bar";
import { gapsOf } from "./deleted-cells";

const CHANGED = "agentnb-changed-cell";

/** The text of a cell that is not in the notebook. */
export interface AbsentCell {
  readonly kind: string | undefined;
  /** Absent where it is too long. */
  readonly text: string | undefined;
  /** What it is called where it is read aloud. */
  readonly label: string;
}

export interface ChangeSurroundings {
  /** Whether a cell shows a proposal: one thing is shown at a time. */
  isTaken(cell: Cell): boolean;
  /** Whether a notebook's path, and a cell in it, mean this notebook. */
  isHere(notebook: string, cellId?: string): boolean;
  /** Shows the text of a cell that is not there in `parent`; the result takes it away. */
  drawCell(parent: HTMLElement, cell: AbsentCell): () => void;
  /** Called when other changes are shown than before, or none. */
  drawn(): void;
}

/** Where a change is drawn: in its cell, or, of a deleted cell, below or (at the top) above another. */
interface Place {
  readonly cell: Cell;
  readonly side: "in" | "below" | "above";
  /** Its place among all, and among those at the same cell. */
  readonly at: readonly [number, number];
}

interface DrawnChange extends Drawn<ChangeBar> {
  readonly change: CellChange;
  place: Place;
  /** Of a deleted cell what stands for it. */
  readonly node: HTMLElement | undefined;
}

export class ShownChanges extends CellMarks<DrawnChange> {
  readonly #surroundings: ChangeSurroundings;
  #changes: readonly CellChange[] = [];
  /** What was kept or undone here: it may be some time before the kernel says so. */
  readonly #done = new Set<string>();

  constructor(panel: NotebookPanel, surroundings: ChangeSurroundings) {
    super(panel);
    this.#surroundings = surroundings;
  }

  /** Shows these, and no others. */
  show(changes: readonly CellChange[]): void {
    this.#changes = changes;
    for (const id of this.#done) if (!changes.some((change) => change.id === id)) this.#done.delete(id);
    this.draw();
  }

  /** Keeps or undoes the change of the active cell, else the first. */
  do(how: "keep" | "undo"): void {
    void this.#current?.bar.do(how);
  }

  /** Goes to the next change, or the previous one. */
  step(by: 1 | -1): void {
    const all = this.inOrder;
    const at = all.findIndex(({ bar }) => bar.hasFocus);
    const first = by > 0 ? 0 : all.length - 1;
    const next = all[at < 0 ? first : (at + by + all.length) % all.length];
    if (!next) return;
    const { content } = this.panel;
    void Promise.resolve(content.scrollToItem?.(content.widgets.indexOf(next.place.cell), "smart"))
      .catch(() => {})
      .then(() => next.place.cell.ready)
      .then(() => next.bar.focus());
  }

  protected override get hasChanges(): boolean {
    return this.#changes.length > 0;
  }

  protected override draw(): void {
    const stays = (drawn: DrawnChange, [, place]: [CellChange, Place]): boolean => {
      const isThere = place.cell === drawn.place.cell && place.side === drawn.place.side;
      if (isThere) drawn.place = place;
      return isThere;
    };
    this.drawAll(this.#wanted(), stays, ([change, place]) => this.#drawIn(change, place));
  }

  protected override onDrawn(): void {
    this.#surroundings.drawn();
  }

  /** What is to be drawn, and where; a change of a cell that is not here, or twice, is left to the chat. */
  #wanted(): Map<string, [CellChange, Place]> {
    const wanted = new Map<string, [CellChange, Place]>();
    if (!this.#changes.length) return wanted;
    const { isHere, isTaken } = this.#surroundings;
    const { widgets } = this.panel.content;
    const cells = new Map<string, number>();
    for (const [index, { model }] of widgets.entries()) cells.set(model.id, cells.has(model.id) ? -1 : index);
    const deleted: CellChange[] = [];
    for (const change of this.#changes) {
      const { id, cellId, notebook, place, status } = change;
      if (this.#done.has(id)) continue;
      if (status === "deleted") {
        if (place && !cells.has(cellId) && isHere(place.notebook, place.below)) deleted.push(change);
        continue;
      }
      const index = cells.get(cellId) ?? -1;
      const cell = widgets[index];
      if (cell && (notebook === undefined || isHere(notebook)) && !isTaken(cell))
        wanted.set(id, [change, { cell, side: "in", at: [index, -1] }]);
    }
    const ids = widgets.map(({ model }) => model.id);
    for (const [change, { below, order }] of deleted.length ? gapsOf(deleted, ids) : []) {
      const cell = widgets[Math.max(0, below)];
      if (cell) wanted.set(change.id, [change, { cell, side: below < 0 ? "above" : "below", at: [below, order] }]);
    }
    return wanted;
  }

  #drawIn(change: CellChange, place: Place): DrawnChange {
    const endings: (() => void)[] = [];
    const doings: ChangeDoings = {
      all: (how) => {
        for (const { bar } of this.inOrder) void bar.do(how);
      },
      step: (by) => this.step(by),
      done: () => {
        this.#done.add(change.id);
        this.draw();
      },
      leave: () => this.panel.content.activate(),
    };
    const bar = new ChangeBar(change, doings, readOnlyNote(this.panel));
    const { cell } = place;
    const drawn: DrawnChange = {
      change,
      place,
      bar,
      node: place.side === "in" ? undefined : deletedCell(bar),
      isEnded: false,
      end: () => {
        drawn.isEnded = true;
        bar.dispose();
        drawn.node?.remove();
        if (drawn.node || !cell.isDisposed) for (const end of endings.splice(0)) end();
      },
    };
    const before = change.status === "added" ? undefined : change.before().catch(() => undefined);
    void Promise.all([before, cell.ready]).then(([text]) => {
      if (drawn.isEnded || cell.isDisposed) return;
      bar.appear();
      endings.push(drawn.node ? this.#strike(drawn, drawn.node, text) : mark(drawn, text));
    });
    return drawn;
  }

  /** Puts what stands for a deleted cell where that was. */
  #strike({ change, place: { cell, side, at } }: DrawnChange, node: HTMLElement, text: string | undefined): () => void {
    const body = node.appendChild(element("div", "agentnb-deleted-cell-text"));
    const later = [...this.drawn.values()]
      .filter(({ place }) => place.cell === cell && place.side === side && place.at[1] > at[1])
      .sort((a, b) => a.place.at[1] - b.place.at[1])
      .find((other) => other.node?.isConnected)?.node;
    if (later) later.before(node);
    else if (side === "above") lastAbove(cell, node);
    else cell.node.append(node);
    return this.#surroundings.drawCell(body, { kind: change.place?.kind, text, label: "Text of the deleted cell" });
  }

  protected override get inOrder(): DrawnChange[] {
    const places = new Map(this.panel.content.widgets.map((cell, index) => [cell, index]));
    const index = ({ place: { cell, side } }: DrawnChange) => (side === "above" ? -1 : (places.get(cell) ?? 0));
    return [...this.drawn.values()].sort((a, b) => index(a) - index(b) || a.place.at[1] - b.place.at[1]);
  }

  get #current(): DrawnChange | undefined {
    const all = this.inOrder;
    const { activeCell } = this.panel.content;
    return (
      all.find(({ bar }) => bar.hasFocus) ??
      all.find(({ place }) => place.side === "in" && place.cell === activeCell) ??
      all[0]
    );
  }
}

/** Puts it in front of the cell, behind those of other deleted cells. */
function lastAbove({ node }: Cell, deleted: HTMLElement): void {
  let at = node.firstElementChild;
  while (at?.classList.contains("agentnb-deleted-cell")) at = at.nextElementSibling;
  node.insertBefore(deleted, at);
}

/** What stands for a deleted cell. */
function deletedCell(bar: ChangeBar): HTMLElement {
  return element("div", { class: "agentnb-deleted-cell", role: "group", label: "Deleted cell" }, bar.node);
}

/** Marks the cell and puts the bar into it; the result takes both away. */
function mark({ bar, change, place: { cell } }: DrawnChange, before: string | undefined): () => void {
  const { node, editor } = cell;
  const leave = putAbove(node, bar.node);
  node.classList.add(CHANGED);
  if (change.status === "added") node.dataset.agentnbAdded = "true";
  // A rendered Markdown cell stays so: the difference is there when it is edited.
  const shown = change.status === "changed" ? before : undefined;
  const difference = editor && shown !== undefined ? new CellDifference(editor.editor, shown, "before") : undefined;
  return () => {
    leave();
    node.classList.remove(CHANGED);
    delete node.dataset.agentnbAdded;
    difference?.remove();
  };
}
