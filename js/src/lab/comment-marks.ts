/** Shows the comments of one notebook in its cells: a mark beside their lines, and the box to write one. */
import { type Range, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { type EditorView, GutterMarker, gutter } from "@codemirror/view";
import type { Cell, NotebookPanel } from "@jupyterlab/notebook";
import { button, element } from "../element";
import { uuid } from "../view/identity";
import { line } from "../view/plain";
import { focusCell } from "./cell-edit";
import { CellForm } from "./cell-form";
import { type CellComment, type Cells, type CommentedCell, Comments, lineWords, placeOf, summary } from "./comments";

const PAUSE = 250;

const setMarks = StateEffect.define<RangeSet<GutterMarker>>();
const marks = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update: (value, { changes, effects }) =>
    effects.reduce((now, effect) => (effect.is(setMarks) ? effect.value : now), value.map(changes)),
});

class Mark extends GutterMarker {
  readonly #title: string;
  readonly #isChanged: boolean;
  readonly #open: () => void;

  constructor(title: string, isChanged: boolean, open: () => void) {
    super();
    this.#title = title;
    this.#isChanged = isChanged;
    this.#open = open;
  }

  override eq(other: GutterMarker): boolean {
    return other instanceof Mark && other.#title === this.#title && other.#isChanged === this.#isChanged;
  }

  override toDOM(): HTMLElement {
    const made = element("button", { class: "agentnb-comment-mark", label: this.#title }, "●");
    Object.assign(made, { type: "button", title: this.#title, tabIndex: -1 }); // by keyboard: use the command
    made.dataset.changed = String(this.#isChanged);
    made.addEventListener("mousedown", (event) => event.stopPropagation());
    made.addEventListener("click", this.#open);
    return made;
  }
}

export class CommentMarks {
  readonly comments: Comments;
  readonly #panel: NotebookPanel;
  readonly #marked = new WeakSet<EditorView>();
  readonly #followed = new WeakSet<Cell>();
  #markedCells = new Set<Cell>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isDue = false;
  #form: CellForm | undefined;

  constructor(panel: NotebookPanel) {
    this.#panel = panel;
    this.comments = new Comments(panel.context.path);
    this.comments.onChange(() => this.#soon());
    panel.context.pathChanged.connect((_, path) => this.comments.moveTo(path));
    const save = (): void => this.comments.save();
    window.addEventListener("pagehide", save);
    panel.disposed.connect(() => {
      window.removeEventListener("pagehide", save);
      clearTimeout(this.#timer);
      this.comments.save();
    });
    void panel.context.ready.then(() => {
      panel.content.model?.cells.changed.connect(() => this.#soon());
      this.#soon();
    });
  }

  /** Opens the box for the selected lines of the active cell, or for their comment. */
  comment(): void {
    const cell = this.#panel.content.activeCell;
    if (!cell?.editor) return;
    const { state } = cell.editor.editor;
    const { from, to } = state.selection.main;
    const first = state.doc.lineAt(from);
    const last = state.doc.lineAt(to > from && to === state.doc.lineAt(to).from ? to - 1 : to);
    const lines = state.doc.toString().split("\n");
    const known = this.comments.of(cell.model.id).find((one) => {
      const place = placeOf(one, lines);
      return place.first <= first.number && first.number <= place.last;
    });
    if (known && from === to) return this.#ask(cell, known);
    const quote = lines.slice(first.number - 1, last.number).join("\n");
    this.#ask(cell, { id: uuid(), cellId: cell.model.id, first: first.number, last: last.number, quote, text: "" });
  }

  /** Goes to a comment, and opens its box. */
  async goTo(comment: CellComment): Promise<void> {
    const { content } = this.#panel;
    const cell = content.widgets.find(({ model }) => model.id === comment.cellId);
    if (!cell) return;
    content.activeCellIndex = content.widgets.indexOf(cell);
    await Promise.resolve(content.scrollToItem?.(content.activeCellIndex, "smart")).catch(() => {});
    await cell.ready;
    this.#ask(cell, comment);
  }

  get cells(): Cells {
    const wanted = new Set(this.comments.all.map(({ cellId }) => cellId));
    const cells = new Map<string, CommentedCell>();
    for (const [index, cell] of (this.#panel.content.model?.sharedModel.cells ?? []).entries()) {
      if (!wanted.has(cell.id)) continue;
      const name = cell.execution_count ? `[${cell.execution_count}]` : `cell ${index + 1}`;
      cells.set(cell.id, { name, lines: cell.getSource().split("\n") });
    }
    return cells;
  }

  #ask(cell: Cell, comment: CellComment): void {
    this.#form?.dispose();
    const isNew = !this.comments.all.some(({ id }) => id === comment.id);
    const close = (): void => {
      this.#form = undefined;
      form.dispose();
    };
    const form = new CellForm(cell, () => focusCell(this.#panel, cell), close);
    this.#form = form;
    const lines = cell.model.sharedModel.getSource().split("\n");
    const { first, last, isChanged } = placeOf(comment, lines);
    const since = isChanged ? ` (the ${first === last ? "line has" : "lines have"} changed since)` : "";
    const removal = {
      word: "Remove",
      run: () => {
        this.comments.remove(comment.id);
        close();
      },
    };
    form.ask({
      label: `Comment on ${lineWords(first, last)}${since}, sent with your next message`,
      value: comment.text,
      word: isNew ? "Add" : "Save",
      more: [...(isNew ? [] : [removal]), { word: "Cancel", run: close }],
      done: (text) => {
        this.comments.put({ ...comment, text });
        close();
      },
    });
  }

  /** Many comments and cells can change at once. */
  #soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      if (!this.#panel.isDisposed) this.#draw();
    });
  }

  #draw(): void {
    const byCell = grouped(this.comments.all, ({ cellId }) => cellId);
    if (!byCell.size && !this.#markedCells.size) return;
    const markedCells = new Set<Cell>();
    for (const cell of this.#panel.content.widgets) {
      const comments = byCell.get(cell.model.id);
      if (!comments && !this.#markedCells.has(cell)) continue;
      if (comments) markedCells.add(cell);
      if (comments) this.#follow(cell);
      if (cell.editor) this.#mark(cell, cell.editor.editor, comments ?? []);
    }
    this.#markedCells = markedCells;
  }

  /** Draws again after a pause in typing, and once the editor is ready. */
  #follow(cell: Cell): void {
    if (this.#followed.has(cell)) return;
    this.#followed.add(cell);
    cell.model.contentChanged.connect(() => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#soon(), PAUSE);
    });
    void cell.ready.then(() => this.#soon());
  }

  #mark(cell: Cell, view: EditorView, comments: readonly CellComment[]): void {
    if (!this.#marked.has(view)) {
      this.#marked.add(view);
      const column = gutter({ class: "agentnb-comments-gutter", markers: (one) => one.state.field(marks) });
      view.dispatch({ effects: StateEffect.appendConfig.of([marks, column]) });
    }
    const lines = cell.model.sharedModel.getSource().split("\n");
    const { doc } = view.state;
    const ranges: Range<GutterMarker>[] = [];
    for (const [number, ones] of grouped(comments, (one) => placeOf(one, lines).first)) {
      if (number > doc.lines) continue;
      const [first] = ones as [CellComment];
      const isChanged = placeOf(first, lines).isChanged;
      const title = `${isChanged ? "The line has changed since. " : ""}${ones.map(({ text }) => line(text, 200)).join(" · ")}`;
      const mark = new Mark(title.slice(0, 600), isChanged, () => this.#ask(cell, first));
      ranges.push(mark.range(doc.line(number).from));
    }
    view.dispatch({ effects: setMarks.of(RangeSet.of(ranges, true)) });
  }
}

function grouped<K>(comments: readonly CellComment[], keyOf: (comment: CellComment) => K): Map<K, CellComment[]> {
  const groups = new Map<K, CellComment[]>();
  for (const one of comments) {
    const group = groups.get(keyOf(one));
    if (group) group.push(one);
    else groups.set(keyOf(one), [one]);
  }
  return groups;
}

/** The number of comments listed at first; more on demand. */
const LISTED = 50;

/** Draws the chip in `into`, in the chat's shadow root. Returns a function that removes it. */
export function showComments(into: HTMLElement, marks: CommentMarks): () => void {
  const { comments } = marks;
  let isOpen = false;
  let most = LISTED;
  let isDue = false;
  const draw = (): void => {
    isDue = false;
    const { all } = comments;
    into.hidden = all.length === 0;
    if (!all.length) {
      isOpen = false;
      most = LISTED;
      return into.replaceChildren();
    }
    const { activeElement } = into.getRootNode() as ShadowRoot;
    const focused = [...into.querySelectorAll("button")].indexOf(activeElement as HTMLButtonElement);
    const chip = button(
      summary(all, marks.cells),
      () => {
        isOpen = !isOpen;
        draw();
        into.querySelector("button")?.focus();
      },
      "mention-chip",
    );
    chip.setAttribute("aria-expanded", String(isOpen));
    into.replaceChildren(chip, ...(isOpen ? [list(all)] : []));
    const buttons = into.querySelectorAll("button");
    if (focused >= 0) buttons[Math.min(focused, buttons.length - 1)]?.focus();
  };
  const list = (all: readonly CellComment[]): HTMLElement => {
    const { cells } = marks;
    const rows = all.slice(0, most).map((one) => row(one, cells.get(one.cellId)));
    const left = all.length - rows.length;
    const more = button(`Show ${Math.min(left, LISTED)} more of ${left.toLocaleString("en")}`, () => {
      most += LISTED;
      draw();
    });
    const none = button("Remove all", () => comments.remove(...all.map(({ id }) => id)));
    for (const one of [more, none]) one.className = "button small";
    const rest = element("div", "row", ...(left > 0 ? [more] : []), none);
    return element("section", { class: "mention-preview", label: "Comments" }, element("ul", "list", ...rows), rest);
  };
  const row = (one: CellComment, cell: CommentedCell | undefined): HTMLElement => {
    const place = cell && placeOf(one, cell.lines);
    const name = cell?.name ?? "Deleted cell";
    const where = `${name}, ${place ? lineWords(place.first, place.last) : lineWords(one.first, one.last)}`;
    const since = place?.isChanged ? " The line has changed since." : "";
    const open = button(`${where}: ${line(one.text, 120)}`, () => void marks.goTo(one), "text-button");
    open.toggleAttribute("disabled", !cell);
    const remove = button("Remove", () => comments.remove(one.id), { class: "text-button", label: `Remove ${where}` });
    return element("li", "row", open, since && element("span", "note", since), element("span", "spacer"), remove);
  };
  const end = comments.onChange(() => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(draw);
  });
  draw();
  return () => {
    end();
    into.replaceChildren();
  };
}
