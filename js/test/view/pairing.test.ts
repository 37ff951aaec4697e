/** Agents in a terminal: the kernel is paired and unpaired in the chat, which shows who is connected. */
import { expect, test } from "vitest";
import { AGENT, addSession, type MemoryStore, readyStore, summary } from "./memory-store";
import { open, type Page } from "./page";

const ROOT = "ahp-root://";
const TERMINAL = "terminal-claude-code:/two";
const OTHER = { provider: "codex", displayName: "Codex", description: "", models: [] };

function withPairing(pairing: unknown, paired: unknown = []): MemoryStore {
  const store = readyStore();
  Object.assign(store, { module: () => import("../../src/pairing.ts") });
  const root = store.root.peek();
  if (root) store.root.value = { ...root, agents: [AGENT, OTHER], config: { schema: {}, values: { pairing, paired } } };
  return store;
}

async function menu(page: Page): Promise<string[]> {
  page.button("New conversation").click();
  await page.until(() => expect(page.all("[role=menuitem]").length).toBeGreaterThan(0));
  return page.all("[role=menuitem]").map((item) => item.textContent ?? "");
}

test("the kernel is paired in the menu for new conversations, and unpaired below the tabs", async () => {
  const store = withPairing(false);
  const page = open(store, { kind: "chat" });
  expect(page.text()).not.toContain("Paired");
  expect(await menu(page)).toContain("Pair a terminal agentWith this kernel");
  page.all("[role=menuitem]")[2]?.click();
  const set = (pairing: boolean) => ({ type: "root/configChanged", config: { pairing } });
  expect(store.dispatched.at(-1)).toEqual({ channel: ROOT, action: set(true) });
  await page.until(() => expect(page.text()).toContain("Paired. An agent in your terminal can connect"));
  page.button("Unpair").click();
  expect(store.dispatched.at(-1)).toEqual({ channel: ROOT, action: set(false) });
  await page.until(() => expect(page.text()).not.toContain("Paired"));
});

test.each([undefined, "yes", 1, null])("a kernel that says %s of pairing has no switch for it", async (pairing) => {
  const page = open(withPairing(pairing, "x"), { kind: "chat" });
  expect((await menu(page)).join()).not.toContain("Pair");
  expect(page.text()).not.toContain("Paired");
});

test("who is connected is named by the title of its conversation, as they come and go", async () => {
  const store = withPairing(true);
  addSession(store, TERMINAL);
  store.apply(ROOT, { type: "x-agentnb/sessionSet", summary: summary(TERMINAL, "Claude Code (terminal)") });
  const page = open(store, { kind: "chat" });
  await page.until(() => expect(page.text()).toContain("An agent in your terminal can connect"));
  store.apply(ROOT, { type: "root/configChanged", config: { paired: [TERMINAL, 7] } });
  await page.until(() => expect(page.text()).toContain("Paired: Claude Code (terminal)"));
  expect(await menu(page)).not.toContain("Pair a terminal agentWith this kernel");
  store.apply(ROOT, { type: "root/configChanged", config: { paired: {} } });
  await page.until(() => expect(page.text()).not.toContain("Paired: "));
});
