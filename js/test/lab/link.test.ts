import type { NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AgentEdits } from "../../src/lab/agent-edits";
import { Link, savedOf } from "../../src/lab/link";
import { AGAIN } from "../../src/notebooks";

/** A signal like Lumino's: it calls slots in their order. */
class Signal {
  #slots = new Set<() => void>();
  connect = (slot: () => void) => this.#slots.add(slot);
  disconnect = (slot: () => void) => this.#slots.delete(slot);
  emit = () => {
    for (const slot of this.#slots) slot();
  };
  get size() {
    return this.#slots.size;
  }
}

/** A notebook of one cell, and the comm that reports its changes. */
function notebook() {
  const model = { dirty: false, contentChanged: new Signal(), stateChanged: new Signal() };
  const cells = [
    { id: "a", cell_type: "code", execution_count: null, getSource: () => "x = 1", getMetadata: () => [] },
  ];
  const content = {
    model: { ...model, sharedModel: { cells } } as typeof model,
    activeCell: null,
    activeCellIndex: 0,
    activeCellChanged: new Signal(),
  };
  const sent: { params: { unsaved?: boolean; cells?: unknown } }[] = [];
  const comm = {
    isDisposed: false,
    onMsg: (_: unknown): void => {},
    open: () => {},
    send: (message: (typeof sent)[number]) => void sent.push(message),
    dispose: () => {},
  };
  const panel = { content, context: { path: "a.ipynb", pathChanged: new Signal() }, isVisible: true };
  const kernel = { createComm: () => comm } as unknown as Kernel;
  const link = new Link(panel as unknown as NotebookPanel, {} as unknown as AgentEdits, kernel);
  return { link, panel, content, comm, sent, unsavedStates: () => sent.map(({ params }) => params.unsaved) };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("reports when the notebook gets unsaved changes and when it is saved", async () => {
  const { link, content, sent, unsavedStates } = notebook();
  await link.open();
  content.model.dirty = true;
  content.model.stateChanged.emit();
  await vi.runAllTimersAsync();
  content.model.dirty = false;
  content.model.stateChanged.emit();
  await vi.runAllTimersAsync();
  expect(unsavedStates()).toEqual([undefined, true, undefined]);
  expect(sent.map(({ params }) => params.cells !== undefined)).toEqual([true, false, false]);
});

test("reports unsaved changes on opening, and everything when asked again", async () => {
  const { link, content, comm, unsavedStates, sent } = notebook();
  content.model.dirty = true;
  await link.open();
  comm.onMsg({ content: { data: { method: "notebookAgain" } } });
  expect(unsavedStates()).toEqual([true, true]);
  expect(sent[1]).toEqual(sent[0]);
});

test("sends the state again when messages may be lost, until disposed", async () => {
  const { link, sent } = notebook();
  await link.open();
  window.dispatchEvent(new Event(AGAIN));
  link.dispose();
  window.dispatchEvent(new Event(AGAIN));
  expect(sent).toEqual([sent[0], sent[0]]);
});

test("gets the prompt for an error and ignores answers to other requests", async () => {
  const { link, comm, sent } = notebook();
  await link.open();
  const failed = { action: "fix", cellId: "a", count: 3, name: "KeyError", message: "x", traceback: "" } as const;
  const prompt = link.promptFor(failed);
  const { id, ...params } = (sent.at(-1) as { params: unknown }).params as { id: string };
  expect(params).toEqual(failed);
  comm.onMsg({ content: { data: { method: "failedPrompt", params: { id: "another", text: "no" } } } });
  comm.onMsg({ content: { data: { method: "failedPrompt", params: { id, text: "Fix it" } } } });
  expect(await prompt).toEqual("Fix it");
});

test("sends nothing for a state that changed back or after disposal", async () => {
  const { link, content, sent } = notebook();
  await link.open();
  content.model.dirty = true;
  content.model.stateChanged.emit();
  content.model.dirty = false;
  content.model.stateChanged.emit();
  await vi.runAllTimersAsync();
  expect(sent.length).toEqual(1);
  link.dispose();
  expect(content.model.stateChanged.size).toEqual(0);
});

test("reports again when the user returns to a visible notebook", async () => {
  const { link, panel, sent } = notebook();
  await link.open();
  window.dispatchEvent(new Event("focus"));
  expect(sent.map(({ params }) => params)).toEqual([
    expect.objectContaining({ path: "a.ipynb" }),
    { path: "a.ipynb", idle: 0 },
  ]);
  panel.isVisible = false;
  window.dispatchEvent(new Event("focus"));
  link.dispose();
  panel.isVisible = true;
  window.dispatchEvent(new Event("focus"));
  expect(sent).toHaveLength(2);
});

test("reports the user's idle time, and the first input after a pause", async () => {
  const { link, content, sent } = notebook();
  await link.open();
  const idle = () => sent.map(({ params }) => (params as { idle?: number }).idle);
  window.dispatchEvent(new Event("keydown"));
  await vi.advanceTimersByTimeAsync(5_000);
  content.model.dirty = true;
  content.model.stateChanged.emit(); // for example an agent's edit
  await vi.runAllTimersAsync();
  expect(idle()).toEqual([0, 5_250]);
  document.body.dispatchEvent(new Event("pointerdown", { bubbles: true }));
  document.body.dispatchEvent(new Event("keydown", { bubbles: true }));
  expect(idle()).toEqual([0, 5_250, 0]);
  link.dispose();
});

test("reports the user's file actions while the link is open", async () => {
  const { link, sent } = notebook();
  link.saved({ path: "early.py", type: "save" });
  await link.open();
  link.saved({ path: "src/a.py", type: "save" });
  link.dispose();
  link.saved({ path: "late.py", type: "save" });
  expect(sent.slice(1)).toEqual([
    expect.objectContaining({ method: "saved", params: { path: "src/a.py", type: "save" } }),
  ]);
});

test.each([
  ["save", null, "a.py", { type: "save", path: "a.py" }],
  ["new", null, "a.py", { type: "new", path: "a.py" }],
  ["rename", "a.py", "b.py", { type: "rename", path: "b.py", was: "a.py" }],
  ["delete", "a.py", undefined, { type: "delete", path: "a.py" }],
  ["save", null, undefined, undefined],
  ["other", "a.py", "b.py", undefined],
])("reads JupyterLab's %s event with old path %s and new path %s", (type, before, after, expected) => {
  const value = (path: string | null | undefined) => (path === null ? null : path === undefined ? {} : { path });
  expect(savedOf({ type, oldValue: value(before), newValue: value(after) })).toEqual(expected);
});
