/** Changes of cells that were made without a question, as the notebook receives them. */
import { effect } from "@preact/signals";
import { expect, test, vi } from "vitest";
import follow from "../../src/cell-changes";
import type { JsonObject, ToolCallCell, TurnChanges } from "../../src/state/types.gen";
import { followCellChanges } from "../../src/view/followers";
import type { CellChange, NotebookActions } from "../../src/view/store";
import { eventually } from "../eventually";
import { CHAT, type MemoryStore, readyStore, SESSION } from "./memory-store";

const OPEN = { status: "ready", files: 0, cells: 2, variables: 0, undone: 0, kept: 0 } as TurnChanges;

function world(kernel = "run") {
  const store = readyStore();
  const session = store.session(SESSION);
  const state = session.peek() as NonNullable<ReturnType<typeof session.peek>>;
  session.value = { ...state, config: { schema: {}, values: { permissions: "ask", kernel } } };
  const applied: (readonly CellChange[])[] = [];
  store.notebook = { applied: (changes) => void applied.push(changes) } as Partial<NotebookActions> as NotebookActions;
  return { store, applied };
}

/** A turn that changed these cells; the user answered `answered` on cards. */
function turn(
  store: MemoryStore,
  id: string,
  cells: object[],
  answered: readonly Partial<ToolCallCell>[] = [],
  _meta?: JsonObject,
): void {
  const message = { text: "Change them", origin: { kind: "user" as const }, ...(_meta && { _meta }) };
  store.apply(CHAT, { type: "chat/turnStarted", turnId: id, message });
  for (const [at, cell] of answered.entries()) {
    const call = { turnId: id, toolCallId: `${id}-${at}` };
    const details = { cell: { notebook: "fit.ipynb", action: "replace", ...cell } };
    store.apply(CHAT, { type: "chat/toolCallStart", ...call, toolName: "edit", displayName: "Replace", details });
    store.apply(CHAT, { type: "chat/toolCallReady", ...call, invocationMessage: "Replace" });
    store.apply(CHAT, { type: "chat/toolCallConfirmed", ...call, approved: true, confirmed: "user-action" });
    const result = { success: true, pastTenseMessage: "Replaced" };
    store.apply(CHAT, { type: "chat/toolCallComplete", ...call, result });
  }
  store.apply(CHAT, { type: "chat/turnComplete", turnId: id });
  store.apply(CHAT, { type: "x-agentnb/turnChanges", turnId: id, changes: OPEN });
  const files = cells.map((cell) => {
    const { id, ...meta } = cell as { id: string };
    const agentnb = { kind: "cell", name: `In [1]: ${id}`, status: "changed", state: "open", undoable: true, ...meta };
    return { id, edit: { before: { uri: `b:${id}` }, after: { uri: `a:${id}` } }, _meta: { agentnb } };
  });
  store.changeset(`${SESSION}/changes/${id}`).value = { status: "ready", files } as never;
}

const cells = (applied: (readonly CellChange[])[]) =>
  applied.at(-1)?.map(({ cellId, status }) => `${cellId} ${status}`);

test("shows a finished turn's cell changes until they are kept or undone", async () => {
  const { store, applied } = world();
  const end = follow({ store, effectWithOffers: effect });
  turn(store, "t1", [
    { id: "cell:a" },
    { id: "cell:b@copy/fit.ipynb", status: "added" },
    { id: "x", kind: "variable" },
  ]);
  expect(cells(applied)).toEqual(["a changed", "b added"]);
  expect([...store.visible.values()]).toEqual([true]); // otherwise a page with a closed chat misses decisions
  expect(applied.at(-1)?.[1]?.notebook).toBe("copy/fit.ipynb");
  store.answer = () => Promise.resolve({ text: "x = 1", size: 5, isCut: false, isBinary: false });
  expect(await applied.at(-1)?.[0]?.before()).toBe("x = 1");
  store.answer = () => Promise.resolve({});
  expect(await applied.at(-1)?.[0]?.keep()).toBe("");
  expect(store.requested.at(-1)).toEqual({
    method: "invokeChangesetOperation",
    params: {
      channel: `${SESSION}/changes/t1`,
      operationId: "keep",
      target: { kind: "resource", resource: "cell:a" },
    },
  });
  const set = store.changeset(`${SESSION}/changes/t1`);
  const [first, ...others] = set.peek()?.files ?? [];
  const kept = { ...first, _meta: { agentnb: { kind: "cell", state: "kept" } } };
  set.value = { status: "ready", files: [kept, ...others] } as never;
  expect(cells(applied)).toEqual(["b added"]);
  end();
  expect(applied.at(-1)).toEqual([]);
  expect([...store.visible.values()]).toEqual([]);
});

test("does not show cell changes that the user approved in advance", () => {
  const { store, applied } = world();
  const end = follow({ store, effectWithOffers: effect });
  const answered = [
    { cellId: "a" },
    { action: "merge", cellId: "b", others: ["c"] },
    { action: "insert", cellId: "a" },
  ];
  const changed = ["a", "b", "d"].map((id) => ({ id: `cell:${id}` }));
  turn(store, "t1", [...changed, { id: "cell:c", status: "deleted" }, { id: "cell:new", status: "added" }], answered);
  expect(cells(applied)).toEqual(["d changed"]);
  const place = { notebook: "fit.ipynb", below: "c", index: 3 };
  turn(store, "t2", [{ id: "cell:d", status: "deleted", place, language: "markdown" }]);
  expect(cells(applied)).toEqual(["d deleted"]);
  expect(applied.at(-1)?.[0]?.place).toEqual({ ...place, kind: "markdown" });
  end();
});

test("does not show cell changes that the user kept from a try", () => {
  const { store, applied } = world();
  const end = follow({ store, effectWithOffers: effect });
  const changes = [{ id: "cell:a" }, { id: "cell:new", status: "added" }];
  turn(store, "t1", changes, [], { agentnb: { isDecided: true } });
  turn(store, "t2", changes, [], { agentnb: { isDecided: "yes" } });
  expect(applied.flat().map(({ id }) => id.includes("/changes/t2"))).toEqual([true, true]);
  end();
});

test("undo returns the message of a conflict or a kernel error", async () => {
  const { store, applied } = world();
  follow({ store, effectWithOffers: effect });
  turn(store, "t1", [{ id: "cell:a" }]);
  store.answer = () => Promise.resolve({ conflicts: [{ id: "cell:a" }], message: "You changed it since." });
  const change = applied.at(-1)?.[0];
  expect(await change?.undo()).toBe("You changed it since. Choose with Review below the turn, in the chat.");
  store.answer = () => Promise.reject(new Error("The turn still runs."));
  expect(await change?.undo()).toBe("The turn still runs.");
});

test.each([
  ["run", 1],
  ["look", 0],
])("loads its module once if the agent may change cells (%s)", async (kernel, times) => {
  const { store, applied } = world(kernel);
  const fetched = vi.fn(() => import("../../src/cell-changes"));
  Object.assign(store, { module: fetched });
  const end = followCellChanges(store);
  turn(store, "t1", [{ id: "cell:a" }]);
  if (times) await eventually(() => expect(cells(applied)).toEqual(["a changed"]));
  expect(fetched).toHaveBeenCalledTimes(times);
  end();
});
