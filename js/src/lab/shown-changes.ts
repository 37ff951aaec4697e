/**
 * Shows changes that were made without a question in the cells of one notebook until the user keeps or undoes them;
 * deleted cells are struck through in their old place. Everything is drawn outside the notebook's model: none of it can
 * be saved.
 */
import type { Cell, NotebookPanel } from "@jupyterlab/notebook";
import { element } from "../element";
import { line } from "../view/plain";
import type { CellChange } from "../view/store";
import { type BarAction, CellBar, putAbove, readOnlyNote } from "./cell-bar";
import { CellDifference } from "./cell-difference";
import { CellMarks, type Drawn } from "./cell-marks";

const CHANGED = "agentnb-changed-cell";

/** The text of a cell that is not in the notebook. */
export interface AbsentCell {
  readonly kind: string | undefined;
  /** Absent if it is too long. */
  readonly text: string | undefined;
  /** The name for screen readers. */
  readonly label: string;
}

export interface ChangeSurroundings {
  /** True if a cell shows a proposal: it shows one thing at a time. */
  isTaken(cell: Cell): boolean;
  /** True if a notebook's path, and a cell in it, mean this notebook. */
  isHere(notebook: string, cellId?: string): boolean;
  /** Shows the text of an absent cell in `parent`. Returns a function that removes it. */
  drawCell(parent: HTMLElement, cell: AbsentCell): () => void;
  /** Called when the shown changes differ from before. */
  drawn(): void;
}

/** The place of a change: in its cell; for a deleted cell, below or (at the top) above another. */
interface ChangePosition {
  readonly cell: Cell;
  readonly side: "in" | "below" | "above";
  /** The order of several at the same cell. */
  readonly order: number;
}

interface DrawnChange extends Drawn {
  readonly change: CellChange;
  place: ChangePosition;
  isBusy: boolean;
}

export class ShownChanges extends CellMarks<DrawnChange> {
  readonly #surroundings: ChangeSurroundings;
  #changes: readonly CellChange[] = [];
  /** Changes that were kept or undone here: the kernel may confirm them later. */
  readonly #done = new Set<string>();

  constructor(panel: NotebookPanel, surroundings: ChangeSurroundings) {
    super(panel);
    this.#surroundings = surroundings;
  }

  /** Shows only these changes. */
  show(changes: readonly CellChange[]): void {
    this.#changes = changes;
    for (const id of this.#done) if (!changes.some((change) => change.id === id)) this.#done.delete(id);
    this.draw();
  }

  /** Keeps or undoes the change of the active cell, else the first. */
  do(how: "keep" | "undo"): void {
    const meant = this.current ?? this.inOrder[0];
    if (meant) void this.#do(meant, how);
  }

  doAll(how: "keep" | "undo"): void {
    for (const one of this.inOrder) void this.#do(one, how);
  }

  protected override get hasChanges(): boolean {
    return this.#changes.length > 0;
  }

  protected override draw(): void {
    const stays = (drawn: DrawnChange, [, place]: [CellChange, ChangePosition]): boolean => {
      const isThere = place.cell === drawn.place.cell && place.side === drawn.place.side;
      if (isThere) drawn.place = place;
      return isThere;
    };
    this.drawAll(this.#wanted(), stays, ([change, place]) => this.#drawIn(change, place));
  }

  protected override onDrawn(): void {
    this.#surroundings.drawn();
  }

  /** Returns the changes to draw, with their places; changes of an absent or ambiguous cell are only in the chat. */
  #wanted(): Map<string, [CellChange, ChangePosition]> {
    const wanted = new Map<string, [CellChange, ChangePosition]>();
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
      const cell = widgets[cells.get(cellId) ?? -1];
      if (cell && (notebook === undefined || isHere(notebook)) && !isTaken(cell))
        wanted.set(id, [change, { cell, side: "in", order: -1 }]);
    }
    const ids = widgets.map(({ model }) => model.id);
    for (const [change, { below, order }] of deleted.length ? gapsOf(deleted, ids) : []) {
      const cell = widgets[Math.max(0, below)];
      if (cell) wanted.set(change.id, [change, { cell, side: below < 0 ? "above" : "below", order }]);
    }
    return wanted;
  }

  #drawIn(change: CellChange, place: ChangePosition): DrawnChange {
    const answer = (how: "keep" | "undo", word: string, title: string): BarAction => ({
      word,
      title,
      isPrimary: word === "Keep",
      run: () => void this.#do(drawn, how),
      can: () => !drawn.isBusy,
    });
    const about = change.about ? ` ${line(change.about, 200)}` : "";
    const keep = answer("keep", "Keep", "Keep the change (Ctrl+Alt+Y)");
    const undo = answer("undo", "Undo", "Bring the cell back to how it was (Ctrl+Alt+N)");
    const what = change.sentence ?? `The agent ${change.status} this cell.`;
    const sentence = `${what}${about}${readOnlyNote(this.panel)}`;
    const bar = new CellBar(sentence, change.isUndoable ? [keep, undo] : [keep], this.leave);
    const node = place.side === "in" ? undefined : deletedCell(bar);
    const drawn: DrawnChange = {
      change,
      place,
      cell: place.cell,
      bar,
      node,
      isEnded: false,
      isBusy: false,
      endings: [],
    };
    const before = change.status === "added" ? undefined : change.before().catch(() => undefined);
    void this.drawInto(drawn, before, (text) => (node ? this.#strike(drawn, node, text) : mark(drawn, text)));
    return drawn;
  }

  /** Keeps or undoes a change, once its bar is armed. */
  async #do(drawn: DrawnChange, how: "keep" | "undo"): Promise<void> {
    const { change, bar } = drawn;
    if (!bar.isArmed || drawn.isBusy || (how === "undo" && !change.isUndoable)) return;
    drawn.isBusy = true;
    bar.update();
    const why = await change[how]();
    drawn.isBusy = false;
    bar.update(why);
    if (why) return;
    this.#done.add(change.id);
    this.draw();
  }

  /** Puts the element of a deleted cell in the cell's old place. */
  #strike(
    { change, place: { cell, side, order } }: DrawnChange,
    node: HTMLElement,
    text: string | undefined,
  ): () => void {
    const body = node.appendChild(element("div", "agentnb-deleted-cell-text"));
    const later = [...this.drawn.values()]
      .filter(({ place }) => place.cell === cell && place.side === side && place.order > order)
      .sort((a, b) => a.place.order - b.place.order)
      .find((other) => other.node?.isConnected)?.node;
    if (later) later.before(node);
    else if (side === "above") lastAbove(cell, node);
    else cell.node.append(node);
    return this.#surroundings.drawCell(body, { kind: change.place?.kind, text, label: "Text of the deleted cell" });
  }

  protected override rank({ place: { side, order } }: DrawnChange, index: number): [number, number] {
    return [side === "above" ? -1 : index, order];
  }
}

/** Puts the element above the cell, after those of other deleted cells. */
function lastAbove({ node }: Cell, deleted: HTMLElement): void {
  let at = node.firstElementChild;
  while (at?.classList.contains("agentnb-deleted-cell")) at = at.nextElementSibling;
  node.insertBefore(deleted, at);
}

function deletedCell(bar: CellBar): HTMLElement {
  return element("div", { class: "agentnb-deleted-cell", role: "group", label: "Deleted cell" }, bar.node);
}

/** Marks the cell and puts the bar into it. Returns a function that removes both. */
function mark({ bar, change, place: { cell } }: DrawnChange, before: string | undefined): () => void {
  const { node, editor } = cell;
  const leave = putAbove(node, bar.node);
  node.classList.add(CHANGED);
  if (change.status === "added") node.dataset.agentnbAdded = "true";
  // A rendered Markdown cell stays rendered: the difference appears in edit mode.
  const oldText = change.status === "changed" ? before : undefined;
  const difference = editor && oldText !== undefined ? new CellDifference(editor.editor, oldText, "before") : undefined;
  return () => {
    leave();
    node.classList.remove(CHANGED);
    delete node.dataset.agentnbAdded;
    difference?.remove();
  };
}

/** The place of a deleted cell among the existing cells. */
interface Gap {
  /** The index of the cell that it was below; -1 at the top. */
  readonly below: number;
  /** The order of several deleted cells in one gap. */
  readonly order: number;
}

/**
 * Returns the gap of each deleted cell in a notebook with the cells `ids`. A cell that was below a deleted one follows
 * it in the same gap. A cell without a known neighbour gets its old index.
 */
function gapsOf(deleted: readonly CellChange[], ids: readonly string[]): Map<CellChange, Gap> {
  const indices = new Map(ids.map((id, index) => [id, index]));
  const gone = new Set(deleted.map(({ cellId }) => cellId));
  const behind = new Map<string, CellChange[]>();
  for (const change of deleted) {
    const { below = "" } = change.place ?? {};
    behind.set(below, [...(behind.get(below) ?? []), change]);
  }
  const gaps = new Map<CellChange, Gap>();
  const place = (first: CellChange): void => {
    const { below, index = 0 } = first.place ?? {};
    const known = below === undefined ? -1 : indices.get(below);
    const at = known ?? Math.min(index, ids.length) - 1;
    const waiting = [first];
    for (let change = waiting.pop(); change; change = waiting.pop()) {
      if (gaps.has(change)) continue;
      gaps.set(change, { below: at, order: gaps.size });
      waiting.push(...(behind.get(change.cellId) ?? []).toReversed());
    }
  };
  for (const change of deleted) if (!gone.has(change.place?.below ?? "")) place(change);
  for (const change of deleted) if (!gaps.has(change)) place(change);
  return gaps;
}
