/** Agents in a terminal: the user pairs and unpairs the kernel in the chat, which shows who is connected. */
import { expect, test } from "vitest";
import { AGENT, addSession, type MemoryStore, readyStore, summary } from "./memory-store";
import { fetchModule } from "./modules";
import { open, type Page } from "./page";

const ROOT = "ahp-root://";
const TERMINAL = "terminal-claude-code:/two";
const OTHER = { provider: "codex", displayName: "Codex", description: "", models: [] };

function withPairing(pairing: unknown, paired: unknown = []): MemoryStore {
  const store = readyStore();
  Object.assign(store, { module: fetchModule });
  const root = store.root.peek();
  if (root) store.root.value = { ...root, agents: [AGENT, OTHER], config: { schema: {}, values: { pairing, paired } } };
  return store;
}

const pairItem = (page: Page) => page.all("[role=menuitem]").find((item) => item.textContent?.startsWith("Pair"));

async function menu(page: Page): Promise<string[]> {
  page.button("Conversation").click();
  await page.until(() => expect(page.all("[role=menuitem]").length).toBeGreaterThan(0));
  return page.all("[role=menuitem]").map((item) => item.textContent ?? "");
}

test("the menu pairs the kernel after confirmation, and Unpair unpairs it", async () => {
  const store = withPairing(false);
  const page = open(store, { kind: "chat" });
  expect(page.text()).not.toContain("Paired");
  expect(await menu(page)).toContain("Pair a terminal agentWith this kernel");
  const set = (pairing: boolean) => ({ type: "root/configChanged", config: { pairing } });
  pairItem(page)?.click();
  await page.until(() => expect(page.text()).toContain("Any program you run on this machine can then see"));
  page.button("Cancel").click();
  await page.until(() => expect(page.all("[role=alertdialog]")).toEqual([]));
  expect(store.dispatched).toEqual([]);
  await menu(page);
  pairItem(page)?.click();
  await page.until(() => page.button("Pair"));
  page.button("Pair").click(); // the second click of a double click on the entry does nothing
  expect(store.dispatched).toEqual([]);
  await page.until(() => expect(page.button("Pair").getAttribute("aria-disabled")).toEqual("false"));
  page.button("Pair").click();
  expect(store.dispatched.at(-1)).toEqual({ channel: ROOT, action: set(true) });
  await page.until(() => expect(page.text()).toContain("Paired. An agent in your terminal can connect"));
  page.button("Unpair").click();
  expect(store.dispatched.at(-1)).toEqual({ channel: ROOT, action: set(false) });
  await page.until(() => expect(page.text()).not.toContain("Paired"));
});

test.each([undefined, "yes", 1, null])("the menu has no Pair entry when the pairing value is %s", async (pairing) => {
  const page = open(withPairing(pairing, "x"), { kind: "chat" });
  expect((await menu(page)).join()).not.toContain("Pair");
  expect(page.text()).not.toContain("Paired");
});

test("a paired agent is shown by its conversation title while connected", async () => {
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

test("remote clients are shown with their rights while connected", async () => {
  const store = withPairing(false);
  const page = open(store, { kind: "chat" });
  const say = (remoteClients: unknown) => store.apply(ROOT, { type: "root/configChanged", config: { remoteClients } });
  say(["phone, watching", "editor, driving and approving"]);
  await page.until(() => expect(page.text()).toContain("Connected: phone, watching; editor, driving and approving."));
  expect(page.text()).not.toContain("Paired");
  say([]);
  await page.until(() => expect(page.text()).not.toContain("Connected:"));
});

test.each([
  [TERMINAL, "Claude Code (terminal)", "Claude Code is used in its terminal. Type there."],
  ["remote-editor:/two", "editor (remote client)", "It only changes files here. Write to an agent in another tab."],
  ["notebook-branches:/two", "Keep try 2: Improve it", "A try was kept here. No agent is available here."],
])("the conversation %s has no message box, and shows where to write", async (channel, title, why) => {
  const store = withPairing(true, [TERMINAL]);
  addSession(store, channel);
  store.apply(ROOT, { type: "x-agentnb/sessionSet", summary: summary(channel, title) });
  const page = open(store, { kind: "chat", tab: channel });
  const session = store.session(channel);
  const state = session.peek() as NonNullable<ReturnType<typeof session.peek>>;
  session.value = { ...state, agentProcess: { state: "running", message: why } };
  await page.until(() => expect(page.text()).toContain(why));
  session.value = { ...state, agentProcess: { state: "stopped", message: "It is no longer connected." } };
  await page.until(() => expect(page.text()).toContain("It is no longer connected."));
  expect(page.text()).not.toContain(why);
  expect(page.find("[aria-selected=true]").textContent).toBe(title);
  expect(page.all("button").map((one) => one.textContent)).not.toContain("Restart agent");
  expect([page.all("textarea").length, page.text().includes("Ask ")]).toEqual([0, false]);
  page.find<HTMLElement>("[role=tab]").click();
  await page.until(() => expect(page.all("textarea")).toHaveLength(1));
});

test("a remote host is shown with its name and connection state", async () => {
  const store = withPairing(undefined);
  const page = open(store, { kind: "chat" });
  const say = (remoteHost: unknown) => store.apply(ROOT, { type: "root/configChanged", config: { remoteHost } });
  say({ name: "127.0.0.1:4123", state: "connected" });
  await page.until(() => expect(page.text()).toContain("Remote: the conversations of 127.0.0.1:4123."));
  expect((await menu(page)).join()).not.toContain("History");
  say({ name: "127.0.0.1:4123", state: "cut", message: "It does not answer." });
  await page.until(() => expect(page.text()).toContain("Remote: disconnected from 127.0.0.1:4123."));
  expect(page.text()).toContain("It does not answer.");
  say({ name: "127.0.0.1:4123", state: "ended", message: "The token was revoked." });
  await page.until(() => expect(page.text()).toContain("Remote: not connected to 127.0.0.1:4123. The token"));
});

test.each([undefined, "yes", 1, null])(
  "no remote host is shown when the remoteHost value is %s",
  async (remoteHost) => {
    const store = withPairing(undefined);
    const page = open(store, { kind: "chat" });
    store.apply(ROOT, { type: "root/configChanged", config: { remoteHost } });
    expect(page.text()).not.toContain("Remote");
    expect((await menu(page)).join()).toContain("History");
  },
);
