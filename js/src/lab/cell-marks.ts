/** What is drawn in the cells of one notebook, each with its bar: drawn again as cells come and go. */
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { CellBar } from "./cell-bar";

/** One change, as it is drawn. */
export interface Drawn<Bar extends CellBar = CellBar> {
  readonly bar: Bar;
  isEnded: boolean;
  end(): void;
}

export abstract class CellMarks<D extends Drawn> {
  protected readonly panel: NotebookPanel;
  protected readonly drawn = new Map<string, D>();
  #isStale = false;

  constructor(panel: NotebookPanel) {
    this.panel = panel;
    panel.content.model?.cells.changed.connect(() => this.redraw());
    panel.disposed.connect(() => {
      for (const drawn of this.drawn.values()) drawn.end();
    });
  }

  /** Whether nothing is drawn. */
  get isEmpty(): boolean {
    return this.drawn.size === 0;
  }

  /** Draws again soon: cells came or went. */
  redraw(): void {
    if (!this.hasChanges || this.#isStale) return;
    this.#isStale = true; // many cells can change at once
    requestAnimationFrame(() => {
      this.#isStale = false;
      if (!this.panel.isDisposed) this.draw();
    });
  }

  /** Whether there is anything to draw. */
  protected abstract get hasChanges(): boolean;
  protected abstract draw(): void;
  /** Called when it was drawn. */
  protected abstract onDrawn(): void;
  /** As they stand in the notebook. */
  protected abstract get inOrder(): D[];

  /** Draws `wanted`, by ids, and nothing else; a bar that goes hands its focus on. */
  protected drawAll<W>(
    wanted: ReadonlyMap<string, W>,
    stays: (drawn: D, one: W) => boolean,
    make: (one: W) => D,
  ): void {
    const hadFocus = this.#hasFocus;
    for (const [id, drawn] of this.drawn) {
      const one = wanted.get(id);
      if (one !== undefined && stays(drawn, one)) continue;
      drawn.end();
      this.drawn.delete(id);
    }
    for (const [id, one] of wanted) if (!this.drawn.has(id)) this.drawn.set(id, make(one));
    for (const { bar } of this.drawn.values()) bar.others = this.drawn.size - 1;
    this.onDrawn();
    if (!hadFocus || this.#hasFocus) return;
    const [next] = this.inOrder;
    if (next) next.bar.focus();
    else this.panel.content.activate();
  }

  get #hasFocus(): boolean {
    return [...this.drawn.values()].some(({ bar }) => bar.hasFocus);
  }
}
