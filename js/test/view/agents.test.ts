/** The agents to start with: installed ones, ones that need no installation, installing and checking. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { AgentInfo, AgentSetup } from "../../src/state/types.gen.ts";
import { AGENT, MemoryStore, readyStore, SESSION } from "./memory-store";
import { fetchModule } from "./modules";
import { open, type Page, press } from "./page";

const NEW_TAB = { tabId: expect.any(String), reuse: true, freedom: "ask" };

const INSTALL = "npm install -g codex";

const missing = (provider: string, more: Partial<AgentInfo> = {}): AgentInfo => ({
  ...AGENT,
  provider,
  displayName: provider,
  description: "Not installed.",
  missing: true,
  install: `npm install -g ${provider}`,
  canInstall: true,
  ...more,
});

const setup = (state: AgentSetup["state"], message = "", output = "fetching\n"): AgentSetup => ({
  state,
  message,
  terminal: { id: "t", command: INSTALL, cwd: "/", output, truncated: false, exited: state !== "running" },
});

class AgentsStore extends MemoryStore {
  readonly modules: string[] = [];
  override module = (name: string): Promise<{ default: unknown }> => {
    this.modules.push(name);
    return fetchModule(name);
  };

  constructor() {
    super();
    const config = { schema: {}, values: { agent: "eliza" } };
    this.root.value = { agents: [], sessions: [], config };
  }

  has(...agents: AgentInfo[]): void {
    this.apply("ahp-root://", { type: "root/agentsChanged", agents });
  }

  ownRequests(): { method: string; params: unknown }[] {
    return this.requested.filter(({ method }) => !["listSessions", "suggestPrompts"].includes(method));
  }
}

async function showList(page: Page): Promise<void> {
  page.find(".pill").click();
  await page.until(() => page.find(".pill-pop .fold-head"));
}

const names = (page: Page) => page.all(".pop-item .pop-name").map((one) => one.textContent);

async function opened(...agents: AgentInfo[]): Promise<{ store: AgentsStore; page: Page }> {
  const store = new AgentsStore();
  store.has(AGENT, ...agents);
  const page = open(store, { kind: "chat" });
  await showList(page);
  page.find(".pill-pop .fold-head").click();
  await page.until(() => expect(page.all(".is-missing").length).toBe(agents.length + 1));
  return { store, page };
}

describe("the More agents list", () => {
  test("is folded, copies install commands and checks again for agents", async () => {
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText: (text: string) => copied.push(text) } });
    onTestFinished(() => void vi.unstubAllGlobals());
    const copied: string[] = [];
    const store = new AgentsStore();
    store.has(AGENT, missing("claude"), missing("codex"));
    const page = open(store, { kind: "chat" });
    expect(store.modules).toEqual([]);
    await showList(page);
    expect(names(page)).toEqual(["Eliza"]);
    page.find(".pill-pop .fold-head").click();
    await page.until(() => expect(page.all(".agent-card").length).toBe(3));
    expect(store.modules).toEqual(["agents"]);
    page.button("Copy install command of codex").click();
    await page.until(() => expect(copied).toEqual([INSTALL]));
    store.answer = () => Promise.resolve({ installed: ["eliza"] });
    page.button("Check again: claude").click();
    await page.until(() => expect(page.text()).toContain("claude was not found."));
    store.answer = () => Promise.reject(new Error("The kernel is gone."));
    page.button("Check again: claude").click();
    await page.until(() => expect(page.text()).toContain("The kernel is gone."));
    store.has(AGENT, { ...AGENT, provider: "claude", displayName: "claude" }, missing("codex"));
    await page.until(() => expect(names(page)).toEqual(["Eliza", "claude"]));
    expect(page.find(".pill-pop .fold-head").textContent).toEqual("More agents (1 to install)");
  });

  test("starts an agent that npx can run without installing it", async () => {
    const { store, page } = await opened(missing("codex", { runner: "npx --yes codex@1 acp", canInstall: undefined }));
    expect(page.all("button").some((one) => one.textContent === "Install…")).toBe(false);
    page.button("Start codex").click();
    expect(store.ownRequests()).toEqual([{ method: "createSession", params: { agent: "codex", ...NEW_TAB } }]);
  });

  test("installs with the confirmed command, then starts a conversation", async () => {
    const { store, page } = await opened(missing("codex", { install: "npm install -g codex\u202e" }));
    page.button("Install codex").click();
    await page.until(() => expect(page.find(".agent-question pre").textContent).toBe(`${INSTALL}⟨U+202E⟩`));
    expect(store.ownRequests()).toEqual([]);
    page.button("Cancel").click();
    await page.until(() => expect(page.all(".agent-question").length).toBe(0));
    store.has(AGENT, missing("codex"));
    page.button("Install codex").click();
    await page.until(() => expect(page.find(".agent-question pre").textContent).toBe(INSTALL));
    page.button("Run").click();
    await page.until(() => expect(store.ownRequests().length).toBe(1));
    expect(store.ownRequests()[0]).toEqual({ method: "installAgent", params: { agent: "codex", command: INSTALL } });
    store.has(AGENT, missing("codex", { setup: setup("running") }));
    await page.until(() => expect(page.find(".terminal").textContent).toContain("fetching"));
    store.has(AGENT, { ...AGENT, provider: "codex", setup: setup("checking") });
    await page.until(() => expect(page.text()).toContain("Checking whether it answers"));
    store.has(AGENT, { ...AGENT, provider: "codex", setup: setup("done", "It answers.") });
    await page.until(() => expect(store.ownRequests().at(-1)?.method).toBe("createSession"));
    expect(store.ownRequests().at(-1)?.params).toEqual({ agent: "codex", ...NEW_TAB });
  });

  test("can stop another window's install and starts no conversation for it", async () => {
    const { store, page } = await opened(missing("codex"), missing("qwen"));
    store.has(AGENT, missing("codex", { setup: setup("running") }), missing("qwen"));
    await page.until(() => page.button("Stop the install of codex"));
    expect((page.button("Install qwen") as HTMLButtonElement).disabled).toBe(true);
    page.button("Stop the install of codex").click();
    await page.until(() =>
      expect(store.ownRequests()).toEqual([{ method: "stopInstall", params: { agent: "codex" } }]),
    );
    store.has(AGENT, missing("codex", { setup: setup("stopped", "The install of codex was stopped.") }));
    await page.until(() => expect(page.text()).toContain("The install of codex was stopped."));
    store.has(AGENT, { ...AGENT, provider: "codex", setup: setup("done", "It answers.") });
    await page.until(() => expect(names(page)).toHaveLength(2));
    expect(store.ownRequests().length).toBe(1);
  });

  test("shows why an install failed and lets the user retry", async () => {
    const { store, page } = await opened(missing("codex"));
    store.answer = () => Promise.reject(new Error("Another install is running."));
    page.button("Install codex").click();
    await page.until(() => page.button("Run"));
    page.button("Run").click();
    await page.until(() => expect(page.text()).toContain("Another install is running."));
    store.has(AGENT, missing("codex", { setup: setup("failed", "npm ended with exit code 243.", "<img src=x>") }));
    await page.until(() => expect(page.text()).toContain("The install failed. npm ended with exit code 243."));
    expect(page.find(".terminal").textContent).toContain("<img src=x>");
    expect((page.button("Install codex") as HTMLButtonElement).disabled).toBe(false);
  });

  test("shows version, start time and models after a check", async () => {
    const { store, page } = await opened();
    const models = ["One", "Two", "Three", "Four"];
    store.answer = () =>
      Promise.resolve({ state: "ready", message: "It answers.", version: "1.2", startMs: 1400, models });
    page.button("Check: Eliza").click();
    const sentence = "It answers. Version 1.2. It starts in 1.4 s. Models: One, Two, Three and 1 more.";
    await page.until(() => expect(page.text()).toContain(sentence));
    expect(store.ownRequests()).toEqual([{ method: "checkAgent", params: { agent: "eliza" } }]);
  });

  test("shows an error when the kernel has no agents module", async () => {
    const store = new AgentsStore();
    store.has(AGENT, missing("codex"));
    store.module = () => Promise.reject(new Error("The front end has no module 'agents'."));
    const page = open(store, { kind: "chat" });
    page.find(".pill").click();
    await page.until(() =>
      expect(page.text()).toContain("no module 'agents'. If this keeps happening, update agentnb"),
    );
  });
});

describe("the agent list", () => {
  const many = Array.from({ length: 40 }, (_, at) => ({
    ...AGENT,
    provider: `agent-${at}`,
    displayName: at === 7 ? "" : `Agent ${at} ${"of a long name ".repeat(9)}`,
  }));

  test("searches forty agents as the user types and moves with arrow keys", async () => {
    const store = new AgentsStore();
    store.has(...many);
    const page = open(store, { kind: "chat" });
    await showList(page);
    expect(names(page)).toHaveLength(40);
    expect(names(page)[7]).toEqual("agent-7"); // it has no name
    const search = page.find<HTMLInputElement>("[aria-label='Search agents']");
    expect(page.root.activeElement).toBe(search);
    press(search, "ArrowDown");
    expect(page.root.activeElement).toBe(page.all(".pop-item")[0]);
    press(page.root.activeElement as Element, "ArrowDown");
    expect(page.root.activeElement).toBe(page.all(".pop-item")[1]);
    press(page.root.activeElement as Element, "3");
    expect(page.root.activeElement).toBe(search);
    search.value = "agent-39";
    search.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await page.until(() => expect(names(page)).toHaveLength(1));
    press(search, "Escape");
    await page.until(() => expect(page.all(".pill-pop")).toEqual([]));
    expect(page.root.activeElement).toBe(page.find(".pill"));
  });

  test("shows the agent's options and filters 200 models", async () => {
    const store = Object.assign(readyStore(), { module: fetchModule });
    const options = Array.from({ length: 200 }, (_, at) => ({ value: `m${at}`, name: `Model ${at}` }));
    store.apply(SESSION, {
      type: "x-agentnb/configOptionsChanged",
      configOptions: [{ id: "model", name: "Model", category: "model", type: "select", currentValue: "m5", options }],
    });
    const page = open(store, { kind: "chat" });
    expect(page.find(".pill").getAttribute("aria-label")).toEqual("Agent: Eliza, Model 5");
    await showList(page);
    page.button("Model: Model 5").click();
    const search = () => page.find<HTMLInputElement>("[aria-label='Search: Model']");
    await page.until(() => expect(search().placeholder).toEqual("Search 200…"));
    expect(page.root.activeElement).toBe(search());
    search().value = "model 19";
    search().dispatchEvent(new InputEvent("input", { bubbles: true }));
    await page.until(() => expect(page.all(".long-choice .pop-item")).toHaveLength(12)); // and 119
    press(search(), "ArrowUp");
    expect(page.root.activeElement).toBe(page.all(".long-choice .pop-item")[11]);
    press(page.root.activeElement as Element, "1");
    expect(page.root.activeElement).toBe(search());
    page.all(".long-choice .pop-item")[11]?.click();
    expect(page.root.activeElement).toBe(page.button("Model: Model 5"));
    expect(store.dispatched.map(({ action }) => action)).toEqual([
      { type: "x-agentnb/configOptionChosen", configId: "model", value: "m199" },
    ]);
  });

  test("starts in a chosen folder and shows when an agent has no options", async () => {
    const { store, page } = await opened();
    page.button("Change folder").click();
    await page.until(() => page.button("Set"));
    const folder = page.find<HTMLInputElement>("[aria-label='Folder that the agent works in']");
    folder.value = "/data";
    folder.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await page.until(() => expect(folder.value).toEqual("/data"));
    page.button("Set").click();
    const params = { agent: "eliza", folder: "/data", ...NEW_TAB };
    await page.until(() => expect(store.ownRequests()).toEqual([{ method: "createSession", params }]));
    const ready = Object.assign(readyStore(), { module: fetchModule });
    const other = open(ready, { kind: "chat" });
    await showList(other);
    await other.until(() => expect(other.text()).toContain("Eliza has no options."));
  });
});
