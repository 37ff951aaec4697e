/** The files at the end of a turn: the changed files in the cases that pytest runs too, their diffs, and downloads. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Action, ResponsePart, ToolCallState } from "../../src/state/types.gen";
import { changes } from "../../src/view/parts/changes";
import { CHAT, type MemoryStore, readyStore, SESSION, startTurn } from "./memory-store";
import { open } from "./page";

interface Call {
  kind: string;
  state?: string;
  locations?: string[];
  diffs?: [path: string, old: string | null, fresh: string][];
}

interface Case {
  description: string;
  calls: Call[];
  changes: [path: string, kind: string, added: number | null, removed: number | null][];
}

const CASES: Case[] = JSON.parse(
  readFileSync(resolve(import.meta.dirname, "../../../tests/cases/changes.json"), "utf8"),
);

function part({ kind, state = "completed", locations = [], diffs = [] }: Call, number = 0): ResponsePart {
  const content = diffs.map(([path, oldText, newText]) => ({ type: "diff", path, oldText, newText }));
  const ended = ["completed", "failed"].includes(state) ? { success: state === "completed" } : {};
  const call = {
    toolCallId: `c${number}`,
    toolName: kind,
    displayName: kind,
    status: state === "failed" ? "completed" : state,
    details: { kind, locations: locations.map((path) => ({ path })), content },
    ...ended,
  };
  return { kind: "toolCall", toolCall: call as unknown as ToolCallState };
}

test.each(CASES)("$description", ({ calls, changes: expected }) => {
  const actual = changes(calls.map(part), "file:///w");
  const rows = actual.map(({ path, kind, change }) => [path, kind, change?.added ?? null, change?.removed ?? null]);
  expect(rows).toEqual(expected);
});

test("lists a change with truncated text without counts", () => {
  const cut = part({ kind: "edit", diffs: [["/w/a", "1\n", "2\n"]] });
  Object.assign((cut as { toolCall: ToolCallState }).toolCall.details?.content?.[0] as object, {
    newTextRef: { uri: "u", size: 99_999 },
  });
  expect(changes([cut], "file:///w")).toEqual([{ path: "a", kind: "changed", change: undefined }]);
});

function ended(...calls: Call[]): MemoryStore {
  const store = readyStore();
  const state = store.session(SESSION).value;
  if (state) store.session(SESSION).value = { ...state, workingDirectories: ["file:///w"] };
  startTurn(store, "t1", "Hi");
  for (const [number, call] of calls.entries())
    store.apply(CHAT, { type: "chat/responsePart", turnId: "t1", part: part(call, number) } as Action);
  store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1" });
  return store;
}

const show = (store: MemoryStore) => open(store, { kind: "chat" });

describe("the files below a turn", () => {
  const saved: { name: string; blob: Blob }[] = [];
  let blob: Blob;
  beforeEach(() => {
    saved.length = 0;
    URL.createObjectURL = (content) => {
      blob = content as Blob;
      return "blob:x";
    };
    URL.revokeObjectURL = () => {};
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
      saved.push({ name: this.download, blob });
    });
  });
  afterEach(() => void vi.restoreAllMocks());

  test("list each changed file with its added and removed lines", () => {
    const page = show(
      ended(
        { kind: "edit", diffs: [["/w/src/a.py", "1\n", "2\n3\n"]] },
        { kind: "edit", diffs: [["/w/b.txt", null, "x\n"]] },
        { kind: "delete", locations: ["/w/old"] },
      ),
    );
    expect(page.find(".files").getAttribute("aria-label")).toBe("Files");
    expect(page.find(".files .fold-head").textContent).toBe("Files (3)");
    const rows = page.all(".files .file").map((row) => row.textContent);
    expect(rows).toEqual([
      "Show change of src/a.py2 lines added, 1 removed+2\u2009−1",
      "Show change of b.txtnew1 line added, 0 removed+1\u2009−0",
      "olddeleted",
    ]);
    expect(page.all(".files .file button.icon-button").map((one) => one.getAttribute("aria-label"))).toEqual([
      "Download a.py",
      "Download b.txt",
    ]);
  });

  test("unfold a change in place as plain text", async () => {
    const page = show(ended({ kind: "edit", diffs: [["/w/a.py", "1\n", "<b>2</b>\n"]] }));
    const head = page.find(".files .file .fold-head");
    expect(head.getAttribute("aria-expanded")).toBe("false");
    head.click();
    await page.until(() => expect(page.find(".files .line.added .text").textContent).toBe("<b>2</b>"));
    expect(page.all(".files b")).toEqual([]);
  });

  test("are folded if many, and absent if none changed or the turn runs", () => {
    const edits = [1, 2, 3, 4, 5, 6].map((number): Call => ({ kind: "edit", diffs: [[`/w/${number}`, null, "x"]] }));
    expect(
      show(ended(...edits))
        .find(".files .fold-head")
        .getAttribute("aria-expanded"),
    ).toBe("false");
    expect(show(ended({ kind: "read", locations: ["/w/a"] })).all(".files")).toEqual([]);
    const store = readyStore();
    startTurn(store, "t1", "Hi");
    store.apply(CHAT, { type: "chat/responsePart", turnId: "t1", part: part(edits[0] as Call) } as Action);
    expect(show(store).all(".files")).toEqual([]);
  });

  test("download as untyped bytes, with hidden characters in names visible", async () => {
    const name = "fig \u202egpj.html";
    const store = ended({ kind: "edit", locations: [`/w/report/${name}`] });
    const content = new Blob([new Uint8Array([0, 255, 60])]);
    store.answer = () => Promise.resolve(content);
    const page = show(store);
    page.find(".files .file .icon-button").click();
    await page.until(() => expect(saved).toEqual([{ name: "fig ⟨U+202E⟩gpj.html", blob: content }]));
    expect(store.requested).toEqual([{ method: "readFile", params: { channel: CHAT, path: `report/${name}` } }]);
    expect(saved[0]?.blob.type).toBe("");
    await page.until(() => expect(page.find<HTMLButtonElement>(".files .icon-button").disabled).toBe(false));
  });

  test("show why a download failed and allow another try", async () => {
    const store = ended({ kind: "edit", diffs: [["/w/.env", null, "KEY=1\n"]] });
    store.answer = () => Promise.reject(new Error("'.env' may hold secrets."));
    const page = show(store);
    page.button("Download .env").click();
    await page.until(() => expect(page.find('.files [role="alert"]').textContent).toBe("'.env' may hold secrets."));
    expect(saved).toEqual([]);
    store.answer = () => Promise.resolve(new Blob());
    page.button("Download .env").click();
    await page.until(() => expect(page.all('.files [role="alert"]')).toEqual([]));
    expect(saved).toHaveLength(1);
  });

  test("disable Download when the kernel has ended", () => {
    const store = ended({ kind: "edit", diffs: [["/w/a", null, "1\n"]] });
    store.connection.value = "gone";
    expect(show(store).button("Download a").disabled).toBe(true);
  });
});
