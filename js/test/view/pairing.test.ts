/** Agents in a terminal: the kernel is paired and unpaired here, and shows who is connected. */
import { expect, test } from "vitest";
import { AGENT, addSession, type MemoryStore, readyStore, startTurn, summary } from "./memory-store";
import { open } from "./page";

const ROOT = "ahp-root://";
const TERMINAL = "terminal-claude-code:/two";
const TITLE = "Claude Code (terminal)";
const SUMMARY = summary(TERMINAL, TITLE);
const OTHER = { provider: "codex", displayName: "Codex", description: "", models: [] };

function withPairing(pairing: unknown, paired: unknown = []): MemoryStore {
  const store = readyStore();
  const root = store.root.peek();
  if (root) store.root.value = { ...root, config: { schema: {}, values: { pairing, paired } } };
  return store;
}

function withTerminal(): MemoryStore {
  const store = withPairing(true, [TERMINAL]);
  addSession(store, TERMINAL);
  const session = store.session(TERMINAL);
  session.value = { ...(session.peek() as NonNullable<ReturnType<typeof session.peek>>), summary: SUMMARY };
  store.apply(ROOT, { type: "x-agentnb/sessionSet", summary: SUMMARY });
  return store;
}

test("the kernel is paired in the menu for new conversations, and unpaired below the tabs", async () => {
  const store = withPairing(false);
  store.apply(ROOT, { type: "root/agentsChanged", agents: [AGENT, OTHER] });
  const page = open(store, { kind: "chat" });
  expect(page.text()).not.toContain("Paired");
  page.button("New conversation").click();
  await page.until(() => expect(page.text()).toContain("Pair a terminal agent"));
  page
    .all("[role=menuitem]")
    .find((item) => item.textContent?.includes("Pair a terminal agent"))
    ?.click();
  expect(store.dispatched.at(-1)).toEqual({
    channel: ROOT,
    action: { type: "root/configChanged", config: { pairing: true } },
  });
  await page.until(() => expect(page.text()).toContain("Paired: add the MCP server `agentnb mcp`"));
  page.button("Unpair").click();
  expect(store.dispatched.at(-1)?.action).toEqual({ type: "root/configChanged", config: { pairing: false } });
  await page.until(() => expect(page.text()).not.toContain("Paired"));
});

test.each([undefined, "yes", 1, null])("a kernel that says %s of pairing shows nothing of it", (pairing) => {
  expect(open(withPairing(pairing, "x"), { kind: "chat" }).text()).not.toMatch(/[Pp]air/);
});

test("who is connected is shown by the title of its conversation, which has no box", async () => {
  const store = withTerminal();
  const page = open(store, { kind: "chat" });
  await page.until(() => expect(page.find("[aria-selected=true]").textContent).toBe(TITLE));
  expect(page.text()).toContain(`Paired: ${TITLE}`);
  expect(page.text()).toContain("Type in the terminal. What the agent does is shown here.");
  expect(page.all("textarea")).toEqual([]);
});

test("what a terminal agent runs is stopped in its conversation", async () => {
  const store = withTerminal();
  startTurn(store, "t1", `${TITLE} uses this kernel.`, `${TERMINAL}/chat`);
  const page = open(store, { kind: "chat" });
  await page.until(() => expect(page.all("button.stop")).toHaveLength(1));
  page.find("button.stop").click();
  expect(store.dispatched.at(-1)).toEqual({
    channel: `${TERMINAL}/chat`,
    action: { type: "chat/turnCancelled", turnId: "t1" },
  });
});
