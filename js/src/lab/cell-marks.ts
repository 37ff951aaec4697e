/** Draws changes in the cells of one notebook, each with its bar; again when cells come and go. */
import type { Cell, NotebookPanel } from "@jupyterlab/notebook";
import type { CellBar } from "./cell-bar";

export interface Drawn {
  /** The cell of the change, or the one beside it. */
  readonly cell: Cell;
  readonly bar: CellBar;
  /** The element for a cell that is not in the notebook. */
  readonly node?: HTMLElement | undefined;
  isEnded: boolean;
  readonly endings: (() => void)[];
}

export abstract class CellMarks<D extends Drawn> {
  protected readonly panel: NotebookPanel;
  protected readonly drawn = new Map<string, D>();
  protected readonly leave = (): void => this.panel.content.activate();
  #isStale = false;

  constructor(panel: NotebookPanel) {
    this.panel = panel;
    panel.content.model?.cells.changed.connect(() => this.redraw());
    panel.disposed.connect(() => {
      for (const drawn of this.drawn.values()) end(drawn);
    });
  }

  get isEmpty(): boolean {
    return this.drawn.size === 0;
  }

  /** Draws again in the next frame: cells came or went. */
  redraw(): void {
    if (!this.hasChanges || this.#isStale) return;
    this.#isStale = true; // many cells can change at once
    requestAnimationFrame(() => {
      this.#isStale = false;
      if (!this.panel.isDisposed) this.draw();
    });
  }

  protected abstract get hasChanges(): boolean;
  protected abstract draw(): void;
  protected abstract onDrawn(): void;
  /** Returns the sort keys (first, second) of a change whose cell has this index. */
  protected abstract rank(drawn: D, index: number): readonly [number, number];

  focus({ bar }: D): void {
    if (bar.node.isConnected) bar.node.scrollIntoView({ block: "nearest" });
    bar.focus();
  }

  /** Draws only `wanted`, by id; if the focused bar disappears, another gets the focus. */
  protected drawAll<W>(
    wanted: ReadonlyMap<string, W>,
    stays: (drawn: D, one: W) => boolean,
    make: (one: W) => D,
  ): void {
    const hadFocus = this.#focused !== undefined;
    for (const [id, drawn] of this.drawn) {
      const one = wanted.get(id);
      if (one !== undefined && stays(drawn, one)) continue;
      end(drawn);
      this.drawn.delete(id);
    }
    for (const [id, one] of wanted) if (!this.drawn.has(id)) this.drawn.set(id, make(one));
    this.onDrawn();
    if (!hadFocus || this.#focused) return;
    const [next] = this.inOrder;
    if (next) this.focus(next);
    else this.leave();
  }

  /** Draws into the cell once the cell and `waited` are ready. */
  protected async drawInto<T>(drawn: D, waited: T, draw: (waited: Awaited<T>) => () => void): Promise<void> {
    const [value] = await Promise.all([waited, drawn.cell.ready]);
    if (drawn.isEnded || drawn.cell.isDisposed) return;
    drawn.bar.appear();
    drawn.endings.push(draw(value));
  }

  async scrollTo({ cell }: D): Promise<void> {
    const { content } = this.panel;
    await Promise.resolve(content.scrollToItem?.(content.widgets.indexOf(cell), "smart")).catch(() => {});
    await cell.ready;
  }

  get ranked(): Ranked<D>[] {
    if (this.isEmpty) return [];
    const places = new Map(this.panel.content.widgets.map((cell, index) => [cell, index]));
    return [...this.drawn.values()].map((one) => ({ one, rank: this.rank(one, places.get(one.cell) ?? 0) }));
  }

  /** All changes in the notebook's order. */
  protected get inOrder(): D[] {
    return this.ranked.sort(byRank).map(({ one }) => one);
  }

  /** The current change: the focused one, or the one in the active cell. */
  get current(): D | undefined {
    const { activeCell } = this.panel.content;
    return this.#focused ?? this.inOrder.find(({ cell, node }) => !node && cell === activeCell);
  }

  get #focused(): D | undefined {
    return [...this.drawn.values()].find(({ bar }) => bar.hasFocus);
  }
}

export interface Ranked<D> {
  readonly one: D;
  readonly rank: readonly [number, number];
}

export const byRank = ({ rank: a }: Ranked<unknown>, { rank: b }: Ranked<unknown>): number =>
  a[0] - b[0] || a[1] - b[1];

/** Returns the next or previous item, wrapping around; from -1 the first or last. */
export function around<T>(all: readonly T[], at: number, by: 1 | -1): T | undefined {
  const first = by > 0 ? 0 : all.length - 1;
  return all[at < 0 ? first : (at + by + all.length) % all.length];
}

function end(drawn: Drawn): void {
  drawn.isEnded = true;
  drawn.bar.dispose();
  drawn.node?.remove();
  if (drawn.node || !drawn.cell.isDisposed) for (const end of drawn.endings.splice(0)) end();
}
