import { EditorView } from "@codemirror/view";
import type { Cell, NotebookPanel } from "@jupyterlab/notebook";
import { expect, test, vi } from "vitest";
import { passShortcuts } from "../../src/lab/cell-bar";
import { byRank } from "../../src/lab/cell-marks";
import { ShownChanges } from "../../src/lab/shown-changes";
import type { CellChange } from "../../src/view/store";
import { eventually } from "../eventually";

// jsdom has no layout.
Element.prototype.scrollIntoView ??= () => {};
Range.prototype.getClientRects ??= () => [] as unknown as DOMRectList;

const nothing = { connect: () => true, disconnect: () => true };

function cell(id: string, source: string): Cell {
  const node = document.createElement("div");
  node.innerHTML = '<div class="jp-Cell-inputWrapper"></div>';
  const view = new EditorView({ parent: node.firstElementChild as HTMLElement, doc: source, extensions: [] });
  return {
    node,
    isDisposed: false,
    ready: Promise.resolve(),
    editor: { editor: view },
    model: { id },
  } as unknown as Cell;
}

function notebook(cells: Cell[], writable = true) {
  const node = document.body.appendChild(document.createElement("div"));
  for (const each of cells) node.append(each.node);
  const content = { node, widgets: cells, activeCell: null, activate: vi.fn(), model: { cells: { changed: nothing } } };
  const context = { path: "fit.ipynb", contentsModel: { writable } };
  const panel = { node, content, context, isDisposed: false, disposed: nothing } as unknown as NotebookPanel;
  const taken = new Set<Cell>();
  const view = new ShownChanges(panel, {
    isTaken: (one) => taken.has(one),
    isHere: (path, cellId) => path === context.path || cells.some(({ model }) => model.id === cellId),
    drawCell: (parent, { text, label }) => {
      parent.textContent = text ?? "";
      parent.ariaLabel = label;
      return () => parent.replaceChildren();
    },
    drawn: () => {},
  });
  const remove = (id: string): void => {
    const index = cells.findIndex(({ model }) => model.id === id);
    cells.splice(index, 1)[0]?.node.remove();
    view.redraw();
  };
  return { node, content, taken, view, remove };
}

function change(more: Partial<CellChange> = {}): CellChange {
  return {
    id: more.cellId ?? "a",
    cellId: "a",
    notebook: undefined,
    status: "changed",
    about: "",
    isUndoable: true,
    place: undefined,
    before: async () => "x = 1\ny = 1",
    keep: vi.fn(async () => ""),
    undo: vi.fn(async () => "You changed it since."),
    ...more,
  };
}

const bars = (node: Element) => [...node.querySelectorAll(".agentnb-cell-bar")];
/** Waits until `count` bars are shown and accept answers. */
const armed = (node: Element, count: number) =>
  eventually(() => expect(node.querySelectorAll("[data-armed=true]")).toHaveLength(count));
const press = (node: Element, name: string) =>
  [...node.querySelectorAll("button")].find(({ textContent, hidden }) => textContent === name && !hidden)?.click();

test("a changed cell shows old and new lines with Keep and Undo", async () => {
  const one = cell("a", "x = 2\ny = 1");
  const { node, view } = notebook([one, cell("b", "z")]);
  const made = change();
  view.show([made]);
  await eventually(() => expect(node.querySelectorAll(".agentnb-old-lines del")).toHaveLength(1));
  expect(node.querySelector(".agentnb-old-lines")?.textContent).toBe("x = 1");
  expect([...node.querySelectorAll(".agentnb-new-line")].map((line) => line.textContent)).toEqual(["x = 2"]);
  expect(bars(node)[0]?.textContent).toContain("The agent changed this cell.");
  await armed(node, 1);
  press(node, "Undo");
  await eventually(() => expect(node.querySelector("[role=status]")?.textContent).toBe("You changed it since."));
  press(node, "Keep");
  expect(made.keep).toHaveBeenCalledOnce();
  view.show([]);
  expect(node.querySelectorAll("[class*=agentnb]")).toHaveLength(0);
});

test("all changes are kept at once, except of missing or repeated cells", async () => {
  const [one, two] = [cell("a", "x"), cell("b", "y")];
  const { node, view, taken } = notebook([one, two, cell("c", ""), cell("c", ""), cell("d", "")]);
  taken.add(node.lastElementChild as never);
  const made = ["a", "b", "c", "gone"].map((cellId) => change({ cellId, status: "added" }));
  view.show([...made, change({ id: "other", notebook: "copy.ipynb" })]);
  await armed(node, 2);
  expect(one.node.dataset.agentnbAdded).toBe("true");
  view.doAll("keep");
  await eventually(() => expect(made.map(({ keep }) => vi.mocked(keep).mock.calls.length)).toEqual([1, 1, 0, 0]));
});

test("hides Undo when a change can't be undone, and escapes agent text", async () => {
  const { node, view } = notebook([cell("a", "x")]);
  view.show([change({ isUndoable: false, about: "<img src=x onerror=alert(1)> moved" })]);
  await eventually(() => expect(bars(node)).toHaveLength(1));
  expect(node.querySelector("img")).toBe(null);
  const seen = [...node.querySelectorAll("button")].filter(({ hidden }) => !hidden).map((one) => one.textContent);
  expect(seen).toEqual(["Keep"]);
});

test("the bar stays above the input and says that the file is read-only", async () => {
  const one = cell("a", "x");
  const { node, view } = notebook([one], false);
  view.show([change({ status: "added" })]);
  await eventually(() => expect(bars(node)).toHaveLength(1));
  expect(bars(node)[0]?.textContent).toContain("Its file is read-only: save the notebook under another name");
  one.node.prepend(one.node.querySelector(".jp-Cell-inputWrapper") as Element);
  await eventually(() => expect(one.node.firstElementChild?.className).toBe("agentnb-cell-bar"));
});

/** A deleted cell, by its id and the cell above it. */
const deleted = (cellId: string, below: string | undefined, more: Partial<CellChange> = {}): CellChange =>
  change({
    cellId,
    status: "deleted",
    place: { notebook: "fit.ipynb", below, index: 0, kind: "code" },
    before: async () => `text of ${cellId}`,
    ...more,
  });

/** The visible texts from top to bottom: of the cells' editors, and of deleted cells. */
const read = (node: Element) =>
  [...node.querySelectorAll(".cm-content, .agentnb-deleted-cell-text")].map(({ textContent }) => textContent);

test("a deleted cell is shown at its old place with Keep and Undo", async () => {
  const { node, view, content } = notebook([cell("a", "one"), cell("c", "three")]);
  const made = deleted("b", "a");
  view.show([made]);
  await eventually(() => expect(read(node)).toEqual(["one", "text of b", "three"]));
  const group = node.querySelector("[role=group]");
  expect(group?.getAttribute("aria-label")).toBe("Deleted cell");
  expect(bars(node)[0]?.getAttribute("aria-label")).toBe("The agent deleted this cell.");
  await armed(node, 1);
  press(node, "Keep");
  expect(made.keep).toHaveBeenCalledOnce();
  node.querySelector("button")?.focus();
  view.show([]);
  expect(node.querySelectorAll("[class*=agentnb]")).toHaveLength(0);
  expect(content.activate).toHaveBeenCalledOnce();
});

test.each<[string, [string, string | undefined][], string[]]>([
  ["the first cell", [["z", undefined]], ["z", "a", "b"]],
  [
    "neighbours, from the top",
    [
      ["x", "a"],
      ["y", "a"],
    ],
    ["a", "x", "y", "b"],
  ],
  [
    "neighbours, from below",
    [
      ["y", "x"],
      ["x", "a"],
    ],
    ["a", "x", "y", "b"],
  ],
  [
    "the first two, from below",
    [
      ["y", "x"],
      ["x", undefined],
    ],
    ["x", "y", "a", "b"],
  ],
  [
    "in two gaps",
    [
      ["x", "b"],
      ["y", "a"],
    ],
    ["a", "y", "b", "x"],
  ],
  ["below a missing cell", [["x", "gone"]], ["x", "a", "b"]],
  [
    "each below the other",
    [
      ["x", "y"],
      ["y", "x"],
    ],
    ["x", "y", "a", "b"],
  ],
  ["a restored cell", [["b", "a"]], ["a", "b"]],
])("deleted cells keep their order: %s", async (_, gone, wanted) => {
  const { node, view } = notebook([cell("a", "text of a"), cell("b", "text of b")]);
  view.show(gone.map(([id, below]) => deleted(id, below)));
  await eventually(() => expect(read(node)).toEqual(wanted.map((id) => `text of ${id}`)));
});

test("the mark of a deleted cell stays when its neighbour is removed", async () => {
  const { node, view, remove } = notebook([cell("a", "one"), cell("b", "two")]);
  view.show([deleted("x", "b", { place: { notebook: "fit.ipynb", below: "b", index: 2, kind: "markdown" } })]);
  await eventually(() => expect(read(node)).toEqual(["one", "two", "text of x"]));
  remove("b");
  await eventually(() => expect(read(node)).toEqual(["one", "text of x"]));
});

test("a deleted cell of another or unknown notebook has no mark here", async () => {
  const { node, view } = notebook([cell("a", "one")]);
  const place = { notebook: "other.ipynb", below: undefined, index: 0, kind: "code" as const };
  view.show([deleted("x", "a", { place }), deleted("y", "a", { place: undefined }), deleted("z", "a")]);
  await eventually(() => expect(read(node)).toEqual(["one", "text of z"]));
});

test("a bar passes shortcuts with Alt to the notebook, and keeps other keys", async () => {
  const { node, view } = notebook([cell("a", "x"), cell("b", "y")]);
  view.show([change({ status: "added" }), change({ cellId: "b", status: "added" })]);
  await eventually(() => expect(bars(node)).toHaveLength(2));
  passShortcuts();
  const held: (string | null | undefined)[] = [];
  document.addEventListener("keydown", ({ target }) => {
    held.push((target as Element).closest("[data-lm-suppress-shortcuts]")?.className);
  });
  const button = bars(node)[0]?.querySelector("button");
  for (const [key, altKey] of [
    ["Alt", true],
    ["F5", true],
    ["F5", false],
  ] as const)
    button?.dispatchEvent(new KeyboardEvent("keydown", { key, altKey, bubbles: true }));
  expect(held).toEqual([undefined]);
});

test("changes follow the cell order, and Undo acts on the focused one", async () => {
  const { node, view } = notebook([cell("a", "one"), cell("c", "three")]);
  const [first, second, third] = [change(), deleted("b", "a"), change({ cellId: "c", status: "added" })];
  view.show([third, second, first]);
  await armed(node, 3);
  const inOrder = view.ranked.sort(byRank).map(({ one }) => one);
  expect(inOrder.map(({ change: { status } }) => status)).toEqual(["changed", "deleted", "added"]);
  view.focus(inOrder[1] as (typeof inOrder)[0]);
  view.do("undo");
  expect(second.undo).toHaveBeenCalledOnce();
});

test("a kept change disappears at once and returns only when redone", async () => {
  const { node, view } = notebook([cell("a", "x"), cell("b", "y")]);
  const made = [change({ status: "added" }), change({ cellId: "b", status: "added" })];
  view.show(made);
  await armed(node, 2);
  press(bars(node)[0] as Element, "Keep");
  await eventually(() => expect(bars(node)).toHaveLength(1));
  view.show(made);
  expect(bars(node)).toHaveLength(1);
  view.show(made.slice(1));
  view.show(made); // undone and done again
  await eventually(() => expect(bars(node)).toHaveLength(2));
});

test("a new bar ignores early clicks and double clicks", async () => {
  const { node, view } = notebook([cell("a", "x"), cell("b", "y")]);
  const made = [change({ status: "added" }), change({ cellId: "b", status: "added" })];
  const [first, second] = made as [CellChange, CellChange];
  const bothCame = new Promise<void>((resolve) => {
    // No timer can fire between this and the code that awaits it.
    const observer = new MutationObserver(() => bars(node).length === 2 && resolve());
    observer.observe(node, { childList: true, subtree: true });
  });
  view.show(made);
  await bothCame;
  const names = ["Keep", "Undo"];
  for (const name of names) press(node, name);
  view.do("undo");
  expect(bars(node)[0]?.querySelector("button")?.getAttribute("aria-disabled")).toBe("true");
  await armed(node, 2);
  expect(bars(node)[0]?.querySelector("button")?.getAttribute("aria-disabled")).toBe("false");
  for (const button of node.querySelectorAll("button"))
    if (names.includes(button.textContent ?? "")) button.dispatchEvent(new MouseEvent("click", { detail: 2 }));
  const calls = [first.keep, first.undo, second.keep, second.undo].map((one) => vi.mocked(one).mock.calls.length);
  expect(calls).toEqual([0, 0, 0, 0]);
  press(node, "Keep");
  await eventually(() => expect(bars(node)).toHaveLength(1));
  expect(first.keep).toHaveBeenCalledOnce();
});
