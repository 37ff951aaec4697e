import { EditorView } from "@codemirror/view";
import type { Cell, NotebookPanel } from "@jupyterlab/notebook";
import { beforeEach, expect, test } from "vitest";
import { ShownProposals } from "../../src/lab/shown-proposals";
import type { CellProposal } from "../../src/view/store";
import { eventually } from "../eventually";

// jsdom has no layout.
Element.prototype.scrollIntoView ??= () => {};
Range.prototype.getClientRects ??= () => [] as unknown as DOMRectList;

/** A bar of another test or file in the same process is armed already: this test must not take it for the new one. */
beforeEach(() => document.body.replaceChildren());

/** A signal like Lumino's, as far as it is used. */
class Signal {
  readonly slots = new Set<() => void>();
  connect = (slot: () => void): unknown => this.slots.add(slot);
  disconnect = (slot: () => void): unknown => this.slots.delete(slot);
  emit(): void {
    for (const slot of [...this.slots]) slot();
  }
}

interface Made extends Cell {
  type(source: string): void;
  readonly changed: Signal;
}

/** A cell with a real editor. */
function cell(id: string, source: string, { editable = true, outputs = 0 } = {}): Made {
  const node = document.createElement("div");
  node.innerHTML = '<div class="jp-Cell-inputWrapper"></div>';
  const view = new EditorView({ parent: node.firstElementChild as HTMLElement, doc: source, extensions: [] });
  const contentChanged = new Signal();
  const changed = new Signal();
  const text = (): string => (view as unknown as { state: { doc: object } }).state.doc.toString();
  const sharedModel = { getSource: text, getMetadata: (name: string) => (name === "editable" ? editable : undefined) };
  const made = {
    node,
    isDisposed: false,
    ready: Promise.resolve(),
    editor: { editor: view },
    model: { id, sharedModel, contentChanged, stateChanged: new Signal() },
    outputArea: { model: { length: outputs, changed } },
    changed,
    type: (next: string) => {
      (view as unknown as { dispatch(change: object): void }).dispatch({
        changes: { from: 0, to: text().length, insert: next },
      });
      contentChanged.emit();
    },
  };
  return made as unknown as Made;
}

function notebook(widgets: Made[], path = "fit.ipynb", open: string[] = []) {
  const node = document.body.appendChild(document.createElement("div"));
  for (const each of widgets) node.append(each.node);
  const cellsChanged = new Signal();
  const pathChanged = new Signal();
  const context = { path, pathChanged };
  const content = {
    node,
    widgets,
    activeCell: null,
    activeCellChanged: new Signal(),
    activate: () => {},
    scrollToItem: async () => {},
    model: { cells: { changed: cellsChanged }, sharedModel: { cells: widgets.map(({ model }) => ({ id: model.id })) } },
  };
  const panel = { node, content, context, isDisposed: false, disposed: new Signal() } as unknown as NotebookPanel;
  const runs: number[] = [];
  const view = new ShownProposals(panel, {
    isOpen: (one) => open.includes(one),
    run: (index) => runs.push(index),
    drawCell: (parent, { text }) => {
      parent.textContent = text ?? "";
      return () => parent.replaceChildren();
    },
  });
  const rename = (to: string): void => {
    context.path = to;
    pathChanged.emit();
  };
  return { view, node, runs, cellsChanged, rename, content };
}

function proposal(more: Partial<CellProposal> = {}): CellProposal & { answers: string[] } {
  const answers: string[] = [];
  return {
    id: "1",
    notebook: "fit.ipynb",
    action: "replace",
    cellId: "a",
    kind: "code",
    oldText: "x = 1\ny = 2",
    newText: "x = 1\ny = 3\nz = 4",
    title: "Replace In [2]",
    accept: () => answers.push("accept"),
    reject: () => answers.push("reject"),
    answers,
    ...more,
  };
}

const drawn = async (): Promise<void> => {
  await eventually(() => expect(document.querySelector(".agentnb-cell-bar[data-armed=true]")).not.toBe(null));
};
const button = (node: Element, name: string): HTMLButtonElement =>
  [...node.querySelectorAll("button")].find(
    ({ textContent, ariaLabel, hidden }) => (textContent === name || ariaLabel === name) && !hidden,
  ) as HTMLButtonElement;
const marks = (node: Element): string[] =>
  [...node.querySelectorAll("[class*=agentnb]")].map(({ className }) => className);

test("a proposed replacement shows old and new lines in the cell's editor", async () => {
  const one = cell("a", "x = 1\ny = 2");
  const { view, node } = notebook([one]);
  const proposed = proposal();
  view.show([proposed]);
  await drawn();
  expect([...node.querySelectorAll(".agentnb-old-line")].map((line) => line.textContent)).toEqual(["y = 2"]);
  expect([...node.querySelectorAll(".agentnb-new-lines ins")].map((line) => line.textContent)).toEqual([
    "y = 3",
    "z = 4",
  ]);
  expect(one.model.sharedModel.getSource()).toEqual("x = 1\ny = 2");
  const offered = [...node.querySelectorAll<HTMLElement>(".agentnb-cell-bar button")].filter(({ hidden }) => !hidden);
  expect(offered.map(({ textContent }) => textContent)).toEqual(["Accept", "Reject"]);
  button(node, "Accept").click();
  expect(proposed.answers).toEqual(["accept"]);
  view.show([]);
  expect([marks(node), node.className]).toEqual([[], ""]);
});

test("proposed cells are marked below, and proposed deletions struck out", async () => {
  const one = cell("a", "x = 1");
  const { view, node } = notebook([one]);
  view.show([
    proposal({ action: "insert", oldText: undefined, newText: "new" }),
    proposal({ id: "2", action: "delete", oldText: "x = 1", newText: undefined }),
  ]);
  await drawn();
  expect(one.node.lastElementChild?.className).toEqual("agentnb-new-cell");
  expect(one.node.querySelector(".agentnb-new-cell-text")?.textContent).toEqual("new");
  expect(one.node.classList).toContain("agentnb-proposed-delete");
  view.show([]);
  expect(marks(node)).toEqual([]);
});

test("marks the place of a move, the cell of a split, the cells of a merge", async () => {
  const [one, two, three] = [cell("a", "x = 1\ny = 2"), cell("b", "2"), cell("c", "3")];
  const { view, node } = notebook([one, two, three]);
  const place = (): (string | undefined)[] =>
    [...node.querySelectorAll(".agentnb-move-place")].map((each) => each.previousElementSibling?.className);
  const barText = (): string | null | undefined => node.querySelector(".agentnb-cell-bar > span")?.textContent;
  const move = { action: "move", newText: undefined };
  view.show([proposal({ ...move, below: "c" })]);
  await drawn();
  expect([three.node.lastElementChild?.className, barText()]).toEqual([
    "agentnb-move-place",
    "The agent proposes to move this cell to the marked place.",
  ]);
  view.show([proposal({ ...move, id: "2", cellId: "c", oldText: "3" })]);
  await eventually(() => expect(one.node.firstElementChild?.className).toBe("agentnb-move-place"));
  expect(place()).toHaveLength(1);
  view.show([proposal({ id: "3", action: "split", newText: "x = 1", moreText: "y = 2" })]);
  await eventually(() => expect(one.node.querySelector(".agentnb-new-cell-text")?.textContent).toBe("y = 2"));
  expect([...node.querySelectorAll(".agentnb-old-line, .agentnb-new-lines")].map((line) => line.textContent)).toEqual([
    "y = 2",
  ]);
  view.show([proposal({ id: "4", action: "merge", newText: "x = 1\ny = 2\n\n2\n\n3", others: ["b", "c", "gone"] })]);
  await eventually(() => expect(three.node.classList).toContain("agentnb-proposed-delete"));
  expect([two.node.classList.contains("agentnb-proposed-delete"), barText()]).toEqual([
    true,
    "The agent proposes to merge this cell with the next 3.",
  ]);
  view.show([]);
  expect([marks(node), two.node.className, three.node.className]).toEqual([[], "", ""]);
});

test.each([
  [{ action: "type", newKind: "markdown" }, "The agent proposes to make this a Markdown cell."],
  [{ action: "type", newKind: "__proto__" }, "The agent proposes to make this a __proto__ cell."],
  [{ action: "tags", newTags: ["a", "b\u202e"] }, "The agent proposes these tags for this cell: a, b⟨U+202E⟩."],
  [{ action: "tags", newTags: [] }, "The agent proposes to remove this cell's tags."],
  [{ action: "constructor" }, "The agent proposes: Replace In [2]"],
])("the bar describes the proposal %j", async (more, text) => {
  const { view, node } = notebook([cell("a", "x = 1\ny = 2")]);
  view.show([proposal({ newText: undefined, ...more })]);
  await drawn();
  expect(node.querySelector(".agentnb-cell-bar > span")?.textContent).toBe(text);
  view.show([]);
});

test.each([
  ["the last lines are removed", "1\n2\n3", "1", ["- 2", "- 3"]],
  ["lines are added at the end", "1", "1\n2\n3", ["+ 2", "+ 3"]],
  ["all lines are removed", "1\n2", "", ["- 1", "- 2", "+ "]],
  ["an empty cell gets text", "", "1\n2", ["+ 1", "+ 2"]],
  ["a line is changed", "1\n2\n3", "1\n4\n3", ["- 2", "+ 4"]],
  ["an empty line is added at the end", "1", "1\n", ["+ "]],
])("the difference shows only changed lines when %s", async (_, oldText, newText, expected) => {
  const { view, node } = notebook([cell("a", oldText)]);
  view.show([proposal({ oldText, newText })]);
  await drawn();
  const lines = [...node.querySelectorAll(".agentnb-old-line, .agentnb-new-lines ins")];
  expect(lines.map((each) => `${each.tagName === "INS" ? "+" : "-"} ${each.textContent}`)).toEqual(expected);
  view.show([]);
});

test.each([
  ["the user has changed the cell", cell("a", "mine"), /You changed this cell/],
  ["the cell is read-only", cell("a", "x = 1\ny = 2", { editable: false }), /read-only/],
])("a change can only be rejected when %s", async (_, one, why) => {
  const { view, node } = notebook([one]);
  const obstacles: string[] = [];
  const proposed = proposal({ placed: (one) => void obstacles.push(one?.obstacle ?? "nowhere") });
  view.show([proposed]);
  await drawn();
  expect(node.querySelector(".agentnb-cell-bar-why")?.textContent).toMatch(why);
  expect(obstacles.at(-1)).toMatch(why);
  button(node, "Accept").click();
  button(node, "Reject").click();
  expect(proposed.answers).toEqual(["reject"]);
  view.show([]);
});

test("the difference follows the user's typing, and undoing it allows Accept", async () => {
  const one = cell("a", "x = 1\ny = 2");
  const { view, node } = notebook([one]);
  const obstacles: string[] = [];
  view.show([proposal({ placed: (one) => void obstacles.push(one?.obstacle ?? "nowhere") })]);
  await drawn();
  one.type("mine");
  expect(obstacles.at(-1)).toMatch(/You changed this cell/);
  expect(button(node, "Accept").getAttribute("aria-disabled")).toEqual("true");
  expect(node.querySelector(".agentnb-old-line")?.textContent).toEqual("mine");
  one.type("x = 1\ny = 2");
  expect(obstacles.at(-1)).toEqual("");
  expect(button(node, "Accept").getAttribute("aria-disabled")).toEqual("false");
  view.show([]);
});

test.each(["replace", "insert"])(
  "a proposed %s is hidden while its cell is deleted, and returns with it",
  async (action) => {
    const [one, two] = [cell("a", "x = 1\ny = 2"), cell("b", "1")];
    const { view, content, cellsChanged } = notebook([one, two]);
    const obstacles: string[] = [];
    const oldText = action === "replace" ? "x = 1\ny = 2" : undefined;
    view.show([proposal({ action, oldText, placed: (one) => void obstacles.push(one?.obstacle ?? "nowhere") })]);
    await drawn();
    content.widgets.splice(0, 1);
    cellsChanged.emit();
    await eventually(() => expect(view.isEmpty).toBe(true));
    expect(obstacles.at(-1)).toMatch(/no longer in the notebook/);
    expect(marks(one.node)).toEqual([]);
    content.widgets.unshift(one);
    cellsChanged.emit();
    await eventually(() => expect(marks(one.node)).toContain("agentnb-cell-bar"));
    expect(obstacles.at(-1)).toEqual("");
    view.show([]);
  },
);

test.each([
  ["by its path", {}, "fit.ipynb", true],
  ["by a path from before a rename", {}, "new.ipynb", true],
  ["by its cell when the path is unknown", { notebook: "old.ipynb" }, "fit.ipynb", true],
  ["not by cell id when the path is another open notebook's", { notebook: "copy.ipynb" }, "fit.ipynb", false],
  ["not without a matching cell", { notebook: "old.ipynb", cellId: "z" }, "fit.ipynb", false],
])("a proposal is matched to the notebook: %s", (_, more, renamed, isHere) => {
  const { view, rename } = notebook([cell("a", "x = 1")], "fit.ipynb", ["fit.ipynb", "copy.ipynb"]);
  rename(renamed);
  view.show([proposal(more)]);
  expect(view.isEmpty).toBe(!isHere);
  view.show([]);
});

test("a proposal for an id that two cells have is not shown", () => {
  const { view, node } = notebook([cell("a", "1"), cell("a", "2")]);
  view.show([proposal()]);
  expect([view.isEmpty, marks(node)]).toEqual([true, []]);
});

test("accept and run runs the cell once, after that edit is made", async () => {
  const one = cell("a", "x = 1\ny = 2", { outputs: 1 });
  const { view, runs } = notebook([one]);
  const proposed = proposal();
  view.show([proposed]);
  await drawn();
  view.answer("run");
  view.show([]);
  const edit = { id: "e", action: "replace" as const, cellId: "a", source: "x = 1\ny = 3\nz = 4" };
  view.edited({ ...edit, source: "other" }, 0, "x = 1\ny = 2");
  expect([proposed.answers, runs]).toEqual([["accept"], []]);
  view.edited(edit, 0, "x = 1\ny = 2");
  view.edited(edit, 0, "x = 1\ny = 2");
  expect([runs, one.node.className]).toEqual([[0], "agentnb-stale"]);
  one.changed.emit();
  expect(one.node.className).toEqual("");
});

test("one bar steps through all changes, counts them and accepts all", async () => {
  const [one, two] = [cell("a", "x"), cell("b", "x")];
  const { view, node } = notebook([one, two, cell("c", "z")]);
  const first = proposal({ oldText: "x", newText: "w" });
  const second = proposal({ id: "2", cellId: "b", oldText: "x", newText: "y" });
  const made = {
    status: "added",
    about: "",
    isUndoable: true,
    notebook: undefined,
    place: undefined,
  } as const;
  const kept: string[] = [];
  const keep = async () => {
    kept.push("c");
    return "";
  };
  view.show([second, first]);
  view.showChanges([{ ...made, id: "3", cellId: "c", before: async () => "", keep, undo: async () => "" }]);
  await eventually(() => expect(node.querySelectorAll(".agentnb-cell-bar[data-armed=true]")).toHaveLength(3));
  const bar = node.querySelector(".agentnb-changes-bar") as HTMLElement;
  const place = (): string | null | undefined => bar.firstElementChild?.textContent;
  expect(place()).toBe("3 changes");
  const seen: unknown[] = [];
  for (const name of ["Next change", "Next change", "Next change", "Next change", "Previous change"]) {
    button(bar, name).click();
    seen.push(place());
  }
  expect(seen).toEqual(["1 of 3", "2 of 3", "3 of 3", "1 of 3", "3 of 3"]);
  expect(node.querySelectorAll("button")).toHaveLength(3 * 2 + 4);
  expect(button(bar, "Accept all").title).toBe("Accept 2 proposed, keep 1 already made (Ctrl+Alt+Shift+Y)");
  button(bar, "Accept all").click();
  expect([first.answers, second.answers, kept]).toEqual([["accept"], ["accept"], ["c"]]);
  view.show([]);
  await eventually(() => expect(node.querySelectorAll("[class*=agentnb]")).toHaveLength(0));
});

test("fifteen changes have at most 34 buttons; one has no notebook bar", async () => {
  const cells = Array.from({ length: 15 }, (_, at) => cell(`c${at}`, "x"));
  const { view, node } = notebook(cells);
  const all = cells.map(({ model }) => proposal({ id: model.id, cellId: model.id, oldText: "x", newText: "y" }));
  view.show(all);
  expect(node.querySelectorAll("button").length).toBeLessThanOrEqual(34);
  view.show(all.slice(0, 1));
  expect(node.querySelectorAll(".agentnb-changes-bar")).toHaveLength(0);
  view.show([]);
});

test("a proposal for the cell itself is answered before one below it", async () => {
  const a = cell("a", "x = 1\ny = 2");
  const { view, content } = notebook([a]);
  Object.assign(content, { activeCell: a });
  const below = proposal({ id: "0", action: "insert", newText: "b = 2" });
  const own = proposal();
  view.show([below, own]);
  await eventually(() => expect(document.querySelectorAll("[data-armed=true]")).toHaveLength(2));
  view.answer("run");
  expect([own.answers, below.answers]).toEqual([["accept"], []]);
});

test("each of 5,000 cells is read at most twice for a list of proposals", () => {
  let reads = 0;
  const few = [cell("a", "x = 1")];
  const many = Array.from({ length: 5_000 }, (_, index) => {
    const model = { ...few[0]?.model };
    return {
      ...few[0],
      model: Object.defineProperty(model, "id", {
        get: () => {
          reads += 1;
          return `c${index}`;
        },
      }),
    } as unknown as Made;
  });
  const { view, content } = notebook(few);
  content.widgets.push(...many);
  reads = 0;
  view.show(Array.from({ length: 20 }, (_, index) => proposal({ id: `${index}`, cellId: "a" })));
  expect(reads / 5_000).toBeLessThanOrEqual(2);
  view.show([]);
});
