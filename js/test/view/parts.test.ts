import { describe, expect, test } from "vitest";
import type { Action, ResponsePart } from "../../src/state/types.gen";
import { compare } from "../../src/view/parts/line-diff";
import { CHAT, type MemoryStore, readyStore, startTurn } from "./memory-store";
import { open } from "./page";

const IDS = { turnId: "t1", toolCallId: "c1" };

function started(details: object = {}, displayName = "Read fit.py"): MemoryStore {
  const store = readyStore();
  startTurn(store, "t1", "Hi");
  store.apply(CHAT, { type: "chat/toolCallStart", ...IDS, toolName: "tool", displayName, details } as Action);
  return store;
}

function ready(store: MemoryStore, more: object = {}): void {
  const action = { type: "chat/toolCallReady", ...IDS, invocationMessage: "", confirmed: "not-needed", ...more };
  store.apply(CHAT, action as Action);
}

function complete(store: MemoryStore, more: object = {}): void {
  const result = { success: true, pastTenseMessage: "", ...more };
  store.apply(CHAT, { type: "chat/toolCallComplete", ...IDS, result });
}

const show = (store: MemoryStore) => open(store, { kind: "turn", channel: CHAT, turnId: "t1" });
const part = (store: MemoryStore, one: unknown) =>
  store.apply(CHAT, { type: "chat/responsePart", turnId: "t1", part: one as ResponsePart });

describe("a tool call", () => {
  test("shows its action, place and state on one line", async () => {
    const store = started({ kind: "read", locations: [{ path: "/a/b/data.py", line: 42 }] });
    ready(store);
    const page = show(store);
    expect(page.find(".tool").textContent).toContain("Read fit.py");
    expect(page.find(".place").textContent).toEqual("data.py:42");
    expect(page.find(".tool .state").textContent).toEqual("Running");
    complete(store);
    await page.until(() => expect(page.find(".tool .state").textContent).toEqual("Done"));
  });

  test("keeps its input and output folded until it is opened", async () => {
    const store = started({ kind: "read", content: [{ type: "text", text: "the file's text" }] });
    ready(store, { toolInput: '{"path":"x"}' });
    complete(store);
    const page = show(store);
    expect(page.text()).not.toContain("the file's text");
    page.find(".tool .fold-head").click();
    await page.until(() => expect(page.find(".output").textContent).toEqual("the file's text"));
    expect(page.find(".input").textContent).toEqual('{\n  "path": "x"\n}');
  });

  test("shows the error message when it failed", () => {
    const store = started();
    ready(store);
    complete(store, { success: false, error: { message: "No such file" } });
    const page = show(store);
    expect(page.find(".tool .state").textContent).toEqual("Failed");
    expect(page.text()).toContain("No such file");
  });

  test.each([
    ["ls -l", ".command-box", "$ ls -l"],
    ["{ ls; }", ".command-box", "$ { ls; }"],
    ["true", ".command-box", "$ true"],
    ['{"shell":3}', ".input", '{\n  "shell": 3\n}'],
  ])("shows a prompt sign before a command, but not before JSON: %s", async (toolInput, where, text) => {
    const store = started({ kind: "execute" });
    ready(store, { toolInput });
    complete(store, { success: false, error: { message: "No" } });
    const page = show(store);
    page.find(".tool .fold-head").click();
    await page.until(() => expect(page.find(where).textContent).toEqual(text));
  });

  test("shows the error once when its output repeats it", () => {
    const store = started({ content: [{ type: "text", text: "Nothing found.\n" }] });
    ready(store);
    complete(store, { success: false, error: { message: "Nothing found." } });
    const page = show(store);
    expect(page.text().split("Nothing found.")).toHaveLength(2);
  });

  test("shows a change line by line with its counts", () => {
    const content = [{ type: "diff", path: "/a/fit.py", oldText: "a\nb\nc\n", newText: "a\nB\nc\nd\n" }];
    const store = started({ kind: "edit", content });
    ready(store);
    const page = show(store);
    expect(page.all(".line.added .text").map((text) => text.textContent)).toEqual(["B", "d"]);
    expect(page.all(".line.removed .text").map((text) => text.textContent)).toEqual(["b"]);
    expect(page.find(".diff-count").textContent).toEqual("2 lines added, 1 removed+2\u2009−1");
  });

  test("folds a change of more than 2,000 lines", () => {
    const content = [{ type: "diff", path: "x", newText: "line\n".repeat(2001) }];
    const store = started({ kind: "edit", content });
    ready(store);
    const page = show(store);
    expect(page.find(".diff").dataset.open).toEqual("false");
    expect(page.find(".diff").textContent).toContain("+2,001");
  });

  test("does not compare texts that are too long", () => {
    expect(compare("a".repeat(1_500_000), "b".repeat(1_500_000))).toEqual(undefined);
  });

  test("shows its terminal live", async () => {
    const store = started({ kind: "execute", content: [{ type: "terminal", terminalId: "x" }] });
    const terminal = { id: "x", command: "make test", output: "", truncated: false, exited: false };
    store.apply(CHAT, { type: "x-agentnb/terminalOpened", terminal });
    ready(store);
    const page = show(store);
    expect(page.find(".terminal .command").textContent).toEqual("make test");
    store.apply(CHAT, { type: "x-agentnb/terminalData", terminalId: "x", data: "\u001b[32mok\u001b[0m\n" });
    await page.until(() => expect(page.find(".terminal .fg-2").textContent).toEqual("ok"));
    store.apply(CHAT, { type: "x-agentnb/terminalExited", terminalId: "x", exitCode: 2 });
    await page.until(() => expect(page.find(".terminal .chip").textContent).toEqual("exit 2"));
  });
});

describe("other parts", () => {
  test("a plan shows its steps and progress", () => {
    const store = readyStore();
    startTurn(store, "t1", "Hi");
    const entries = [
      { content: "one", status: "completed" },
      { content: "two", status: "in_progress" },
      { content: "three", status: "pending" },
    ];
    store.apply(CHAT, { type: "x-agentnb/planSet", turnId: "t1", partId: "p1", entries });
    const page = show(store);
    expect(page.text()).toContain("1 of 3");
    expect(page.all(".step").map((step) => step.textContent)).toEqual(["onedone", "twoin progress", "threepending"]);
  });

  test("a picture is shown from its bytes", () => {
    const store = readyStore();
    startTurn(store, "t1", "Hi");
    part(store, {
      kind: "x-agentnb/content",
      id: "p1",
      block: { type: "image", mimeType: "image/png", data: "iVBORw0=" },
    });
    expect(show(store).find<HTMLImageElement>("img").src).toEqual("data:image/png;base64,iVBORw0=");
  });

  test("an unknown update is shown by its name, with its JSON inside", async () => {
    const store = readyStore();
    startTurn(store, "t1", "Hi");
    part(store, { kind: "x-agentnb/raw", id: "p1", name: "future_update", payload: { answer: 42 } });
    const page = show(store);
    expect(page.text()).toContain("future_update");
    page.find(".raw .fold-head").click();
    await page.until(() => expect(page.find(".output").textContent).toContain('"answer": 42'));
  });

  test("an unknown part is shown by its kind", () => {
    const store = readyStore();
    startTurn(store, "t1", "Hi");
    part(store, { kind: "futurePart", value: 1 });
    expect(show(store).text()).toContain("futurePart");
  });
});

describe("large content", () => {
  const ref = (field: string) => ({ [`${field}Ref`]: { uri: `agentnb-content:t1/${field}`, size: 100_000 } });

  function withContent(content: unknown[], more: object = {}): MemoryStore {
    const store = started({ kind: "read", content, ...more });
    ready(store);
    complete(store);
    return store;
  }

  async function unfolded(store: MemoryStore) {
    const page = show(store);
    page.find(".tool .fold-head").click();
    await page.until(() => expect(page.all(".text-button").length).toBeGreaterThan(0));
    return page;
  }

  test("shows its beginning, and the whole text on Show all", async () => {
    const store = withContent([{ type: "text", text: "beg", ...ref("text") }]);
    store.answer = () => Promise.resolve("beginning and end");
    const page = await unfolded(store);
    expect(page.find(".output").textContent).toEqual("beg");
    expect(page.find(".text-button").textContent).toEqual("Show all (98 KB)");
    page.find(".text-button").click();
    await page.until(() => expect(page.find(".output").textContent).toEqual("beginning and end"));
    expect(page.all(".text-button")).toEqual([]);
    expect(store.requested).toEqual([
      { method: "fetchContent", params: { channel: CHAT, uri: "agentnb-content:t1/text", size: 100_000 } },
    ]);
  });

  test("shows why loading failed, and can be requested again", async () => {
    const store = withContent([{ type: "text", text: "beg", ...ref("text") }]);
    store.answer = () => Promise.reject(new Error("The agent has replaced it."));
    const page = await unfolded(store);
    page.find(".text-button").click();
    await page.until(() => expect(page.text()).toContain("The agent has replaced it."));
    store.answer = () => Promise.resolve("all");
    page.find(".text-button").click();
    await page.until(() => expect(page.find(".output").textContent).toEqual("all"));
    expect(page.text()).not.toContain("replaced");
  });

  test("is not shown when it was replaced while loading", async () => {
    const store = withContent([{ type: "text", text: "old", ...ref("text") }]);
    let arrive = (_text: string): void => undefined;
    store.answer = () => new Promise<string>((resolve) => (arrive = resolve));
    const page = await unfolded(store);
    page.find(".text-button").click();
    await page.until(() => expect(store.requested).toHaveLength(1));
    store.apply(CHAT, {
      type: "x-agentnb/toolCallDetailsChanged",
      ...IDS,
      details: { content: [{ type: "text", text: "new", textRef: { uri: "agentnb-content:t1/other", size: 70_000 } }] },
    } as unknown as Action);
    await page.until(() => expect(page.find(".output").textContent).toEqual("new"));
    arrive("old and all of it");
    await page.until(() => expect(page.find(".text-button").textContent).toEqual("Show all (68 KB)"));
    expect(page.find(".output").textContent).toEqual("new");
  });

  test("is fetched without a click when it is a picture", async () => {
    const block = { type: "image", mimeType: "image/png", data: "", ...ref("data") };
    const store = withContent([{ type: "block", block }]);
    store.answer = () => Promise.resolve("QUJD");
    const page = show(store);
    await page.until(() => expect(page.find("img.picture").getAttribute("src")).toEqual("data:image/png;base64,QUJD"));
  });

  test("shows raw output as text, and updates it when replaced", async () => {
    const contentRef = { uri: "agentnb-content:t1/raw", size: 100_000 };
    const store = started({ kind: "other", rawOutput: { contentRef, preview: '{"a":' } });
    ready(store);
    complete(store);
    store.answer = () => Promise.resolve('{"a": 1}');
    const page = await unfolded(store);
    expect(page.find(".output").textContent).toEqual('{"a":');
    page.find(".text-button").click();
    await page.until(() => expect(page.find(".output").textContent).toEqual('{"a": 1}'));
    store.apply(CHAT, { type: "x-agentnb/toolCallDetailsChanged", ...IDS, details: { rawOutput: "short" } } as Action);
    await page.until(() => expect(page.find(".output").textContent).toEqual("short"));
    expect(page.all(".text-button")).toEqual([]);
  });
});
