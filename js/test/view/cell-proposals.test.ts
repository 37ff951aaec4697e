import { describe, expect, test } from "vitest";
import { offer } from "../../src/notebooks";
import type { ToolCallCell } from "../../src/state/types.gen";
import { followProposals } from "../../src/view/cell-proposals";
import type { CellProposal, NotebookActions } from "../../src/view/store";
import { CHAT, type MemoryStore, readyStore, SESSION, startTurn } from "./memory-store";

const WAITING = 24;
const CELL: ToolCallCell = {
  notebook: "fit.ipynb",
  action: "replace",
  cellId: "c",
  kind: "code",
  oldText: "x = 1",
  newText: "x = 2",
};

/** A store with a notebook that records each list of proposals that it receives. */
function world() {
  const store = readyStore();
  const proposed: (readonly CellProposal[])[] = [];
  const notebook = { propose: (proposals: readonly CellProposal[]) => proposed.push(proposals) };
  startTurn(store, "t1", "Fix it");
  return { store, proposed, notebook: notebook as unknown as NotebookActions };
}

function ask(store: MemoryStore, id: string, cell: object | null = CELL): void {
  const call = { turnId: "t1", toolCallId: id };
  const details = cell ? { kind: "edit", cell: cell as ToolCallCell } : { kind: "edit" };
  store.apply(CHAT, { type: "chat/toolCallStart", ...call, toolName: "edit", displayName: `Replace ${id}`, details });
  store.apply(CHAT, { type: "chat/toolCallReady", ...call, invocationMessage: `Replace ${id}` });
  status(store, WAITING);
}

function status(store: MemoryStore, value: number): void {
  const root = store.root.peek();
  const sessions = (root?.sessions ?? []).map((one) => (one.resource === SESSION ? { ...one, status: value } : one));
  store.root.value = { ...(root as NonNullable<typeof root>), sessions };
}

const ids = (proposed: (readonly CellProposal[])[]) =>
  proposed.map((list) => list.map(({ id }) => id.split(" ").at(-1)));

describe("cell proposals", () => {
  test("appear with their permission request and disappear when answered", () => {
    const { store, proposed, notebook } = world();
    store.notebook = notebook;
    const end = followProposals(store);
    ask(store, "c1");
    expect(proposed.at(-1)?.[0]).toMatchObject({ ...CELL, title: "Replace c1" });
    expect([...store.visible.values()]).toEqual([true]);
    ask(store, "c2", null);
    ask(store, "c3");
    store.apply(CHAT, { type: "chat/toolCallConfirmed", turnId: "t1", toolCallId: "c1", approved: true });
    store.apply(CHAT, { type: "chat/turnCancelled", turnId: "t1" });
    expect(ids(proposed)).toEqual([["c1"], ["c1", "c3"], ["c3"], []]);
    expect([...store.visible.values()]).toEqual([false]);
    end();
  });

  test.each([
    ["accept", true],
    ["reject", false],
  ] as const)("%s answers the permission request", (how, approved) => {
    const { store, proposed, notebook } = world();
    store.notebook = notebook;
    const end = followProposals(store);
    ask(store, "c1");
    proposed.at(-1)?.[0]?.[how]?.();
    expect(store.dispatched.at(-1)).toMatchObject({
      channel: CHAT,
      action: { type: "chat/toolCallConfirmed", turnId: "t1", toolCallId: "c1", approved },
    });
    expect(proposed.at(-1)).toEqual([]);
    end();
  });

  test("reach a notebook offered later and are withdrawn when the widget ends", () => {
    const { store, proposed, notebook } = world();
    const end = followProposals(store);
    ask(store, "c1");
    store.notebook = notebook;
    offer({}, notebook);
    expect(ids(proposed)).toEqual([["c1"]]);
    end();
    expect(proposed.at(-1)).toEqual([]);
  });

  test("have no old text when it was truncated", () => {
    const { store, proposed, notebook } = world();
    store.notebook = notebook;
    const end = followProposals(store);
    ask(store, "c1", { ...CELL, oldTextRef: { uri: "agentnb-content:1", size: 1 } });
    expect(proposed.at(-1)?.[0]?.oldText).toEqual(undefined);
    expect(proposed.at(-1)?.[0]?.newText).toEqual("x = 2");
    end();
  });

  test("disappear when the kernel ends", () => {
    const { store, proposed, notebook } = world();
    store.notebook = notebook;
    const end = followProposals(store);
    ask(store, "c1");
    store.connection.value = "gone";
    expect(proposed.at(-1)).toEqual([]);
    end();
  });
});
