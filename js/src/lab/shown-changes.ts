/**
 * The changes of cells that were made without a question, shown in the cells of one notebook until the user keeps or
 * undoes them; deleted cells struck where they were. Everything is drawn beside the notebook's model: none of it can be
 * saved.
 */
import type { Cell, NotebookPanel } from "@jupyterlab/notebook";
import type { CellChange } from "../view/store";
import { putAbove, readOnlyNote } from "./cell-bar";
import { CellDifference } from "./cell-difference";
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

/** One change, as it is drawn. */
interface Drawn {
  readonly change: CellChange;
  place: Place;
  readonly bar: ChangeBar;
  /** Of a deleted cell what stands for it. */
  readonly node: HTMLElement | undefined;
  isEnded: boolean;
  end(): void;
}

export class ShownChanges {
  readonly #panel: NotebookPanel;
  readonly #surroundings: ChangeSurroundings;
  #changes: readonly CellChange[] = [];
  readonly #drawn = new Map<string, Drawn>();
  /** What was kept or undone here: a chat that is closed is not told that before it is open again. */
  readonly #done = new Set<string>();
  #isStale = false;

  constructor(panel: NotebookPanel, surroundings: ChangeSurroundings) {
    this.#panel = panel;
    this.#surroundings = surroundings;
    panel.content.model?.cells.changed.connect(() => this.redraw());
    panel.disposed.connect(() => {
      for (const drawn of this.#drawn.values()) drawn.end();
    });
  }

  get isEmpty(): boolean {
    return this.#drawn.size === 0;
  }

  /** Shows these, and no others. */
  show(changes: readonly CellChange[]): void {
    this.#changes = changes;
    for (const id of this.#done) if (!changes.some((change) => change.id === id)) this.#done.delete(id);
    this.#draw();
  }

  /** Draws again soon: cells came or went, or have a proposal now. */
  redraw(): void {
    if (!this.#changes.length || this.#isStale) return;
    this.#isStale = true; // many cells can change at once
    requestAnimationFrame(() => {
      this.#isStale = false;
      if (!this.#panel.isDisposed) this.#draw();
    });
  }

  /** Keeps or undoes the change of the active cell, else the first. */
  do(how: "keep" | "undo"): void {
    void this.#current?.bar.do(how);
  }

  /** Goes to the next change, or the previous one. */
  step(by: 1 | -1): void {
    const all = this.#inOrder;
    const at = all.findIndex(({ bar }) => bar.hasFocus);
    const first = by > 0 ? 0 : all.length - 1;
    const next = all[at < 0 ? first : (at + by + all.length) % all.length];
    if (!next) return;
    const { content } = this.#panel;
    void Promise.resolve(content.scrollToItem?.(content.widgets.indexOf(next.place.cell), "smart"))
      .catch(() => {})
      .then(() => next.place.cell.ready)
      .then(() => next.bar.focus());
  }

  #draw(): void {
    const wanted = this.#wanted();
    const hadFocus = [...this.#drawn.values()].some(({ bar }) => bar.hasFocus);
    for (const [id, drawn] of this.#drawn) {
      const place = wanted.get(id)?.[1];
      if (place?.cell === drawn.place.cell && place.side === drawn.place.side) {
        drawn.place = place;
        continue;
      }
      drawn.end();
      this.#drawn.delete(id);
    }
    for (const [id, [change, place]] of wanted)
      if (!this.#drawn.has(id)) this.#drawn.set(id, this.#drawIn(change, place));
    for (const { bar } of this.#drawn.values()) bar.others = this.#drawn.size - 1;
    this.#surroundings.drawn();
    if (!hadFocus || [...this.#drawn.values()].some(({ bar }) => bar.hasFocus)) return;
    const [next] = this.#inOrder;
    if (next) next.bar.focus();
    else this.#panel.content.activate();
  }

  /** What is to be drawn, and where; a change of a cell that is not here, or twice, is left to the chat. */
  #wanted(): Map<string, [CellChange, Place]> {
    const wanted = new Map<string, [CellChange, Place]>();
    if (!this.#changes.length) return wanted;
    const { isHere, isTaken } = this.#surroundings;
    const { widgets } = this.#panel.content;
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

  #drawIn(change: CellChange, place: Place): Drawn {
    const endings: (() => void)[] = [];
    const doings: ChangeDoings = {
      all: (how) => {
        for (const { bar } of this.#inOrder) void bar.do(how);
      },
      step: (by) => this.step(by),
      done: () => {
        this.#done.add(change.id);
        this.#draw();
      },
      leave: () => this.#panel.content.activate(),
    };
    const bar = new ChangeBar(change, doings, readOnlyNote(this.#panel));
    const { cell } = place;
    const drawn: Drawn = {
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
  #strike({ change, place: { cell, side, at } }: Drawn, node: HTMLElement, text: string | undefined): () => void {
    const body = document.createElement("div");
    body.className = "agentnb-deleted-cell-text";
    node.append(body);
    const later = [...this.#drawn.values()]
      .filter(({ place }) => place.cell === cell && place.side === side && place.at[1] > at[1])
      .sort((a, b) => a.place.at[1] - b.place.at[1])
      .find((other) => other.node?.isConnected)?.node;
    if (later) later.before(node);
    else if (side === "above") lastAbove(cell, node);
    else cell.node.append(node);
    return this.#surroundings.drawCell(body, { kind: change.place?.kind, text, label: "Text of the deleted cell" });
  }

  get #inOrder(): Drawn[] {
    const places = new Map(this.#panel.content.widgets.map((cell, index) => [cell, index]));
    const index = ({ place: { cell, side } }: Drawn) => (side === "above" ? -1 : (places.get(cell) ?? 0));
    return [...this.#drawn.values()].sort((a, b) => index(a) - index(b) || a.place.at[1] - b.place.at[1]);
  }

  get #current(): Drawn | undefined {
    const all = this.#inOrder;
    const { activeCell } = this.#panel.content;
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
  const node = document.createElement("div");
  node.className = "agentnb-deleted-cell";
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", "Deleted cell");
  node.append(bar.node);
  return node;
}

/** Marks the cell and puts the bar into it; the result takes both away. */
function mark({ bar, change, place: { cell } }: Drawn, before: string | undefined): () => void {
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
