/** Research in the transcript: findings with their sources, and the conversation that found them. */
import { describe, expect, test } from "vitest";
import type { NotebookActions } from "../../src/view/store";
import { CHAT, readyStore, startTurn, summary } from "./memory-store";
import { open } from "./page";

const FOUND = "eliza:/research";

const opened: unknown[] = [];

function show() {
  const store = readyStore();
  store.notebook = {
    openFile: (path, _, line) => void opened.push([path, line]),
  } as Partial<NotebookActions> as NotebookActions;
  const sessions = store.root.value?.sessions ?? [];
  store.root.value = { agents: [], sessions: [...sessions, { ...summary(FOUND), status: 97 }] };
  startTurn(store, "t1", "How?");
  const at = { turnId: "t1", toolCallId: "c1" };
  store.apply(CHAT, { type: "chat/toolCallStart", ...at, toolName: "kernel", displayName: "Research polars" });
  store.apply(CHAT, { type: "chat/toolCallReady", ...at, invocationMessage: "Research", confirmed: "not-needed" });
  const citations = [
    {
      text: "It is **lazy**.",
      place: "polars/scan.py:12",
      path: "/lib/polars/scan.py",
      line: 12,
      excerpt: "def scan():",
      lines: "# lazily\ndef scan():\n    pass",
      firstLine: 11,
    },
    { text: "That is all." },
  ];
  const research = { package: "polars", version: "1.9.0", citations, session: FOUND };
  store.apply(CHAT, { type: "x-agentnb/toolCallDetailsChanged", ...at, details: { research } });
  return { store, page: open(store, { kind: "chat" }) };
}

describe("a research result", () => {
  test("lists findings and opens a source file at its line", async () => {
    const { page } = show();
    await page.until(() => expect(page.all(".citations li").length).toBe(2));
    expect(page.find(".citations").textContent).toContain("Found in the source of polars 1.9.0");
    page.find<HTMLButtonElement>(".citation .fold-head").click();
    await page.until(() =>
      expect(page.find(".citation pre").textContent).toBe("11: # lazily\n12: def scan():\n13:     pass"),
    );
    expect(page.find(".citation mark").textContent).toBe("12: def scan():\n");
    page.button("Open").click();
    expect(opened).toEqual([["/lib/polars/scan.py", 12]]);
  });

  test("opens the research conversation, which has no tab before", async () => {
    const { page, store } = show();
    await page.until(() => expect(page.all(".citations").length).toBe(1));
    expect(page.all("[role=tab]").length).toBe(1);
    page.button("Open conversation").click();
    expect(store.dispatched.at(-1)).toEqual({
      channel: FOUND,
      action: { type: "session/isArchivedChanged", isArchived: false },
    });
  });
});
