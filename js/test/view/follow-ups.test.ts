/** Suggestions after a turn, by one click; and the questions that wait out of sight. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ChangesetFile, TurnChanges } from "../../src/state/types.gen";
import type { NotebookActions } from "../../src/view/store";
import { addSession, CHAT, type MemoryStore, readyStore, SESSION, startTurn, summary } from "./memory-store";
import { open, type Page } from "./page";

const SET = `${SESSION}/changes/t1`;
const OTHER = "claude:/two";

const change = (id: string, more: object = {}): ChangesetFile => {
  const agentnb = { kind: id.split(":")[0], name: id, status: "changed", state: "open", undoable: true, ...more };
  return { id, edit: {}, _meta: { agentnb } } as unknown as ChangesetFile;
};

/** A finished tool call that was allowed. */
function call(store: MemoryStore, id: string, success: boolean): void {
  const at = { turnId: "t1", toolCallId: id };
  store.apply(CHAT, { type: "chat/toolCallStart", ...at, toolName: "execute", displayName: `Run ${id}` });
  store.apply(CHAT, { type: "chat/toolCallReady", ...at, invocationMessage: `Run ${id}`, confirmed: "not-needed" });
  store.apply(CHAT, { type: "chat/toolCallComplete", ...at, result: { success, pastTenseMessage: "" } });
}

function ended(calls: readonly [string, boolean][], files: readonly ChangesetFile[] = []): MemoryStore {
  const store = readyStore();
  startTurn(store, "t1", "Fit it");
  for (const [id, success] of calls) call(store, id, success);
  store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1" });
  const cells = files.filter(({ id }) => id.startsWith("cell:")).length;
  const changes: TurnChanges = { status: "ready", files: files.length - cells, cells, undoable: files.length };
  if (files.length > 0) store.apply(CHAT, { type: "x-agentnb/turnChanges", turnId: "t1", changes });
  store.changeset(SET).value = { status: "ready", files };
  return store;
}

const show = (store: MemoryStore) => open(store, { kind: "chat" });
const next = (page: Page) => page.all(".follow-ups button").map((one) => one.textContent);
const runs = (page: Page) => page.all("[aria-label='Run the changed cells']").length;

describe("actions after a turn", () => {
  test("run the changed code cells once, in their order", async () => {
    const run: (readonly string[])[] = [];
    const files = [change("cell:a"), change("cell:gone", { status: "deleted" }), change("cell:b"), change("file:c")];
    const store = ended([], files);
    store.notebook = { runCells: (ids) => void run.push(ids) } as NotebookActions;
    const page = show(store);
    page.button("Run the changed cells").click();
    await page.until(() => expect(runs(page)).toEqual(0));
    expect(run).toEqual([["a", "b"]]);
  });

  test("offer no run when all changed cells have run since", () => {
    const store = ended([], [change("cell:a"), change("cell:b")]);
    const ran = new Set(["a"]);
    store.notebook = { runCells: (_ids) => undefined, hasRun: (id) => ran.has(id) } as NotebookActions;
    expect(runs(show(store))).toEqual(1);
    ran.add("b");
    expect(runs(show(store))).toEqual(0);
  });

  test("offer Explain the error only if the last tool call failed", async () => {
    const menu = async (...calls: [string, boolean][]) => {
      const store = ended(calls);
      const page = show(store);
      page.button("Turn").click();
      await page.until(() => page.find("[role=menuitem]"));
      return { store, page, names: page.all("[role=menuitem]").map((one) => one.textContent) };
    };
    expect((await menu(["first", false], ["then", true])).names).not.toContain("Explain the error");
    const { store, page, names } = await menu(["first", true], ["tests", false]);
    expect(names[0]).toEqual("Explain the error");
    page.find("[role=menuitem]").click();
    await page.until(() => expect(store.dispatched.length).toBeGreaterThan(0));
    const { action } = store.dispatched.at(-1) as { action: { type: string; message: { text: string } } };
    expect([action.type, action.message.text]).toEqual([
      "chat/turnStarted",
      "Explain the error of “Run tests”: what went wrong, and what can be done about it?",
    ]);
  });

  test("offer no run when the kernel has ended", () => {
    const store = ended([], [change("cell:a")]);
    store.notebook = { runCells: (_ids) => undefined } as NotebookActions;
    store.connection.value = "gone";
    expect(runs(show(store))).toEqual(0);
  });
});

/** Adds suggestions of the agent. */
function suggest(store: MemoryStore, ...suggestions: string[]): MemoryStore {
  store.apply(CHAT, { type: "x-agentnb/promptSuggestionsChanged", suggestions });
  return store;
}

const box = (page: Page) => page.find(".prompt textarea") as HTMLTextAreaElement;

describe("prompt suggestions", () => {
  test("fill the message box on a click and are not sent", async () => {
    const store = suggest(ended([["tests", false]]), "Run the test alone", "Show what\nit returns");
    const page = show(store);
    expect(next(page)).toEqual(["Run the test alone", "Show what it returns"]);
    expect(page.all("[role=group][aria-label=Suggestions] button")).toHaveLength(2);
    const sent = store.dispatched.length;
    page.button("Show what it returns").click();
    await page.until(() => expect(box(page).value).toBe("Show what\nit returns"));
    expect(page.root.activeElement).toBe(box(page));
    page.button("Run the test alone").click();
    await page.until(() => expect(box(page).value).toBe("Run the test alone")); // replaces the other suggestion
    expect(store.dispatched).toHaveLength(sent);
  });

  test("are appended to text that the user typed", async () => {
    const page = show(suggest(ended([]), "Plot it"));
    box(page).value = "First: ";
    box(page).dispatchEvent(new Event("input", { bubbles: true }));
    page.button("Plot it").click();
    await page.until(() => expect(box(page).value).toBe("First: Plot it"));
  });

  test("are shown before the first message", () => {
    expect(next(show(suggest(readyStore(), "Look around")))).toEqual(["Look around"]);
  });

  test("disappear on a new prompt, on withdrawal and without a kernel", async () => {
    const store = suggest(ended([]), "Plot it");
    const page = show(store);
    suggest(store);
    await page.until(() => expect(next(page)).toEqual([]));
    suggest(store, "Plot it");
    await page.until(() => expect(next(page)).toEqual(["Plot it"]));
    startTurn(store, "t2", "Something else");
    await page.until(() => expect(next(page)).toEqual([]));
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t2" });
    expect(next(page)).toEqual([]);
    suggest(store, "Plot it");
    await page.until(() => expect(next(page)).toEqual(["Plot it"]));
    store.connection.value = "gone";
    await page.until(() => expect(next(page)).toEqual([]));
  });

  test("show at most three as plain text, complete in the tooltip", () => {
    const long = `Plot ${"every column ".repeat(150)}`.trim();
    const page = show(suggest(ended([]), "<img src=x onerror=alert(1)>", "a\u202eb", long, "A fourth"));
    expect(next(page)).toEqual(["<img src=x onerror=alert(1)>", "a⟨U+202E⟩b", long]);
    expect(page.all(".follow-ups img")).toEqual([]);
    expect(page.all(".follow-ups button").map((one) => one.title)).toEqual(next(page));
  });

  test("are not shown when they are not text", () => {
    const store = ended([]);
    store.apply(CHAT, {
      type: "x-agentnb/promptSuggestionsChanged",
      suggestions: [1, null, { toString: "x" }, "Plot it"] as unknown as string[],
    });
    expect(next(show(store))).toEqual(["Plot it"]);
  });
});

describe("a pending question", () => {
  test("in another conversation is shown above the box and opens on a click", async () => {
    const store = readyStore();
    addSession(store, OTHER);
    const waiting = [summary(SESSION, "First"), summary(OTHER, "Clean the data", 24)];
    store.root.value = { agents: [], sessions: waiting };
    const page = open(store, { kind: "chat", tab: SESSION });
    expect(page.find(".foot .waiting-question").textContent).toBe("claude: Clean the dataneeds your answerShow");
    page.find(".waiting-question").click();
    await page.until(() => expect(page.find("[aria-selected=true]").textContent).toContain("Clean the data"));
    expect(page.all(".waiting-question")).toEqual([]);
  });

  test("is shown above the box while its card is out of view, and focuses it", async () => {
    let sees: (isIntersecting: boolean) => void = () => {};
    class Observer {
      constructor(listener: (entries: object[]) => void, options?: { threshold?: number }) {
        if (options?.threshold) sees = (isIntersecting) => listener([{ target: this, isIntersecting }]);
      }
      observe(): void {}
      unobserve(): void {}
      disconnect(): void {}
    }
    vi.stubGlobal("IntersectionObserver", Observer);
    onTestFinished(() => void vi.unstubAllGlobals());
    const store = readyStore();
    const page = show(store);
    startTurn(store, "t1", "Tidy up");
    const at = { turnId: "t1", toolCallId: "c" };
    store.apply(CHAT, { type: "chat/toolCallStart", ...at, toolName: "execute", displayName: "Delete `the data`" });
    store.apply(CHAT, { type: "chat/toolCallReady", ...at, invocationMessage: "Delete `the data`" });
    await page.until(() => page.find(".permission"));
    sees(false);
    await page.until(() => expect(page.find(".waiting-question").textContent).toContain("Delete the data"));
    page.find(".waiting-question").click();
    expect(page.root.activeElement).toBe(page.find(".permission"));
    sees(true);
    await page.until(() => expect(page.all(".waiting-question")).toEqual([]));
  });
});
