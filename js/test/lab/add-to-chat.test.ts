import type { Cell, Notebook } from "@jupyterlab/notebook";
import { expect, test, vi } from "vitest";
import { addition } from "../../src/lab/add-to-chat";
import { takeCells } from "../../src/lab/cell-drop";

interface Given {
  count?: number;
  text?: string;
}

const cell = (id: string, { count, text = "" }: Given = {}): Cell =>
  ({
    model: { id, sharedModel: { execution_count: count ?? null, getSource: () => `before ${text}` } },
    editor: {
      getSelection: () => ({ start: text ? 7 : 0, end: text ? 7 + text.length : 0 }),
      getOffsetAt: (place: number) => place,
    },
  }) as unknown as Cell;

const notebook = (widgets: Cell[], active: Cell, selected: Cell[] = [active]): Notebook =>
  ({ widgets, activeCell: active, isSelected: (one: Cell) => selected.includes(one) }) as unknown as Notebook;

async function added(...args: Parameters<typeof addition>) {
  const chatAddition = addition(...args);
  const mentionOf = (id: string, text: string) => Promise.resolve(`selection:1 (${id}: ${text})`);
  return chatAddition && [chatAddition.about, await chatAddition.mentions({ mentionOf })];
}

const A = cell("aaaaaaaa-1", { count: 3 });
const B = cell("bbbbbbbb-1");
const C = cell("cccccccc-1", { count: 3 });
const SELECTED = cell("d", { count: 5, text: "x = 1" });

test("selected text takes precedence over selected cells", async () => {
  expect(await added(notebook([A, SELECTED], SELECTED))).toEqual(["The selected code", "@selection:1 (d: x = 1)"]);
  expect(await added(notebook([A, B], A, [A, B]))).toEqual(["2 cells", "@cell:3 @cell:bbbbbbbb"]);
  expect(await added(notebook([A, B], A))).toEqual(["The cell", "@cell:3"]);
});

test("the clicked cell is added alone unless it is one of several selected", async () => {
  expect(await added(notebook([A, B, SELECTED], SELECTED), { cells: [A] })).toEqual(["The cell", "@cell:3"]);
  expect(await added(notebook([A, B], A, [A, B]), { cells: [B] })).toEqual(["2 cells", "@cell:3 @cell:bbbbbbbb"]);
  expect(await added(notebook([A, SELECTED], SELECTED), { cells: [SELECTED] })).toEqual([
    "The selected code",
    "@selection:1 (d: x = 1)",
  ]);
});

test("an output is mentioned by its cell's number", async () => {
  expect(await added(notebook([A, B], B), { cells: [A], output: true })).toEqual(["The output of [3]", "@output:3"]);
});

test("cells with the same number are mentioned by a unique id prefix", async () => {
  const twin = cell("aaaaaaaa-2");
  expect(await added(notebook([A, C], A), { cells: [C] })).toEqual(["The cell", "@cell:cccccccc"]);
  expect(await added(notebook([A, C], A), { cells: [A], output: true })).toEqual(["The cell", "@cell:aaaaaaaa"]);
  expect(await added(notebook([A, C, twin], A), { cells: [twin] })).toEqual(["The cell", "@cell:aaaaaaaa-2"]);
});

test.each([
  ["total", "total", ["The variable total", "@total"]],
  ["a part of a variable", "largest", ["The variable größen", "@größen"]],
  ["a name that cannot be mentioned", "special variables", undefined],
])("a variable in the debugger's list is mentioned by name: %s", async (_, rowText, expected) => {
  const tree = document.createElement("div");
  const row = (name: string, parts = "") =>
    `<div class="jp-TreeItem nested"><span class="jp-DebuggerVariables-name">${name}</span>${parts}</div>`;
  tree.innerHTML = row("special variables") + row("total") + row("größen", row("inner", row("largest")));
  const names = [...tree.querySelectorAll(".jp-DebuggerVariables-name")];
  const hit = names.find((one) => one.textContent === rowText)?.parentElement as Element;
  expect(await added(notebook([A], A), { hit })).toEqual(expected);
});

test("many selected cells are mentioned as @selection", async () => {
  const many = Array.from({ length: 11 }, (_, at) => cell(`cell-${at}`));
  expect(await added(notebook(many, many[0] as Cell, many))).toEqual(["11 cells", "@selection"]);
});

test("cells dropped on the chat are added; other drags are ignored", () => {
  const node = document.createElement("div");
  const take = vi.fn();
  takeCells(node, take);
  const drag = (kind: string, cells?: unknown) => {
    const mimeData = { hasData: () => cells !== undefined, getData: () => cells };
    const event = Object.assign(new Event(kind, { cancelable: true }), { mimeData, dropAction: "none" });
    node.dispatchEvent(event);
    return [event.defaultPrevented, event.dropAction];
  };
  expect(drag("lm-dragover")).toEqual([false, "none"]);
  expect(drag("lm-dragenter", [A])).toEqual([true, "copy"]);
  expect(take).not.toHaveBeenCalled();
  expect(drag("lm-drop", [A])).toEqual([true, "copy"]);
  expect(take).toHaveBeenCalledExactlyOnceWith([A]);
});
