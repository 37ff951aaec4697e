import { describe, expect, onTestFinished, test, vi } from "vitest";
import { eventually } from "../eventually";
import {
  AGENT,
  addSession,
  CHAT,
  MemoryStore,
  readyStore,
  SESSION,
  sessionState,
  startTurn,
  summary,
} from "./memory-store";
import { fetchModule } from "./modules";
import { open, press, type } from "./page";

const NEW_TAB = { tabId: expect.any(String), reuse: true };

const OTHER = "claude:/two";

function twoTabs() {
  const store = readyStore();
  addSession(store, OTHER);
  store.root.value = {
    agents: [AGENT, { provider: "claude", displayName: "Claude Code", description: "", models: [] }],
    sessions: [summary(SESSION, "First"), summary(OTHER, "Second")],
  };
  return store;
}

const tabNames = (page: ReturnType<typeof open>) => page.all("[role=tab]").map((tab) => tab.textContent);
const activeTab = (page: ReturnType<typeof open>) => page.find("[role=tab][aria-selected=true]").textContent;

describe("the chat without a conversation", () => {
  test("says that it connects", () => {
    const store = new MemoryStore();
    store.connection.value = "connecting";
    expect(open(store, { kind: "chat" }).text()).toContain("Connecting to the kernel");
  });

  test("offers the agents there are, and asks the host for a session", async () => {
    const store = new MemoryStore();
    store.root.value = { agents: [AGENT], sessions: [] };
    const page = open(store, { kind: "chat" });
    expect(page.text()).toContain("Start a conversation");
    page.find(".agent-card").click();
    expect(store.requested.filter(({ method }) => method !== "listSessions")).toEqual([
      { method: "createSession", params: { agent: "eliza", kernel: "off", ...NEW_TAB } },
    ]);
  });

  test("goes to the tab that it asked for, also when another window opens one meanwhile", async () => {
    const store = readyStore();
    const page = open(store, { kind: "chat" });
    let answer: (made: { channel: string }) => void = () => {};
    store.answer = (method) =>
      method === "createSession" ? new Promise((resolve) => (answer = resolve)) : Promise.resolve({});
    page.button("New conversation").click();
    for (const name of ["of-another-window", "mine", "of-a-third"]) {
      store.apply("ahp-root://", { type: "x-agentnb/sessionSet", summary: summary(`eliza:/${name}`, name) });
      if (name === "of-another-window") await page.until(() => expect(page.all("[role=tab]")).toHaveLength(2));
    }
    answer({ channel: "eliza:/mine" });
    await page.until(() => expect(page.find("[role=tab][aria-selected=true]").textContent).toContain("mine"));
  });

  test("says why a session could not be made", async () => {
    const store = new MemoryStore();
    store.root.value = { agents: [AGENT], sessions: [] };
    store.answer = () => Promise.reject(new Error("eliza is not installed"));
    const page = open(store, { kind: "chat" });
    page.find(".agent-card").click();
    await page.until(() => expect(page.text()).toContain("eliza is not installed"));
  });

  test("tells what to type when no agent is known", () => {
    const store = new MemoryStore();
    store.root.value = { agents: [] };
    expect(open(store, { kind: "chat" }).text()).toContain("%agents known");
  });

  test("says that the agent is starting", () => {
    const store = readyStore();
    const agentProcess = { state: "starting" } as const;
    store.session(SESSION).value = { ...sessionState(SESSION), lifecycle: "creating", agentProcess };
    expect(open(store, { kind: "chat" }).text()).toContain("Starting Eliza");
  });

  test("an empty conversation names the agent and how to send", () => {
    const page = open(readyStore(), { kind: "chat" });
    expect(page.text()).toContain("Ask Eliza");
    expect(page.text()).toContain("Shift+Enter");
    expect(page.all(".examples")).toEqual([]); // an older kernel gives none
  });

  test("an example is written into the box, and not sent; what the reader wrote stays", async () => {
    const store = readyStore();
    const prompts = ["Explain @cell:3", "Plot @df by species", "Plot @df by species", "x".repeat(900), "fourth"];
    store.answer = (method) => Promise.resolve(method === "suggestPrompts" ? { prompts } : {});
    const page = open(store, { kind: "chat" });
    const box = () => page.find<HTMLTextAreaElement>(".prompt textarea");
    await page.until(() => expect(page.all(".examples button")).toHaveLength(3));
    page.button("Explain @cell:3").click();
    await page.until(() => expect(box().value).toEqual("Explain @cell:3"));
    expect([store.dispatched, page.root.activeElement]).toEqual([[], box()]);
    page.button("Plot @df by species").click();
    await page.until(() => expect(box().value).toEqual("Plot @df by species"));
    type(box(), "In short: ");
    page.button("Explain @cell:3").click();
    await page.until(() => expect(box().value).toEqual("In short: Explain @cell:3"));
    const asked = () => store.requested.filter(({ method }) => method === "suggestPrompts").length;
    const before = asked();
    page.find(".empty").dispatchEvent(new Event("pointerenter")); // cells may have run since
    await page.until(() => expect(asked()).toEqual(before + 1));
  });
});

describe("the menu of new conversations", () => {
  test("has what is installed; the others are behind one entry, which leads to what to type", async () => {
    const store = twoTabs();
    const missing = { ...AGENT, provider: "codex", displayName: "Codex", description: "", missing: true };
    store.root.value = { ...store.root.peek(), agents: [...(store.root.peek()?.agents ?? []), missing] };
    const module = fetchModule;
    const page = open(Object.assign(store, { module }), { kind: "chat" });
    page.button("New conversation").click();
    await page.until(() => page.find(".menu-item"));
    const names = page.all(".menu-name").map((one) => one.textContent);
    expect(names).toEqual(["Eliza", "Claude Code", "More agents", "History"]);
    page.all(".menu-item")[2]?.click();
    await page.until(() => expect(page.find(".is-missing").getAttribute("aria-label")).toEqual("Codex"));
    const panels = page
      .all("[role=tab]")
      .map((tab) => page.root.getElementById(tab.getAttribute("aria-controls") ?? ""));
    expect(panels.map((one) => one?.className)).toEqual(["column empty", "column empty"]);
    page.all("[role=tab]")[0]?.click();
    await page.until(() => expect([page.all(".is-missing"), activeTab(page)]).toEqual([[], "ElizaFirst"]));
  });
});

describe("tabs", () => {
  test("show agent and title, and the newest is active", () => {
    const page = open(twoTabs(), { kind: "chat" });
    expect(tabNames(page)).toEqual(["ElizaFirst", "Claude CodeSecond"]);
    expect(activeTab(page)).toEqual("Claude CodeSecond");
  });

  test("a view asked for a tab shows that tab, by its id or its channel", () => {
    expect(activeTab(open(twoTabs(), { kind: "chat", tab: "one" }))).toEqual("ElizaFirst");
    expect(activeTab(open(twoTabs(), { kind: "chat", tab: SESSION }))).toEqual("ElizaFirst");
  });

  test("are a tab list that the arrow keys walk through", async () => {
    const page = open(twoTabs(), { kind: "chat" });
    press(page.find("[aria-selected=true]"), "ArrowRight");
    await page.until(() => expect(activeTab(page)).toEqual("ElizaFirst"));
    expect(page.find("[aria-selected=true]").getAttribute("tabindex")).toEqual("0");
    const panel = page.find("[role=tabpanel]");
    expect(panel.id).toEqual(page.find("[aria-selected=true]").getAttribute("aria-controls"));
    expect(panel.getAttribute("aria-labelledby")).toEqual(page.find("[aria-selected=true]").id);
  });

  test("say how each session stands", () => {
    const store = twoTabs();
    store.root.value = {
      agents: [AGENT],
      sessions: [summary("eliza:/a", "", 24), summary("eliza:/b", "", 8), summary("eliza:/c", "", 2), summary(SESSION)],
    };
    const page = open(store, { kind: "chat" });
    expect(tabNames(page)).toEqual(["needs you: Eliza", "working: Eliza", "error: Eliza", "Eliza"]);
  });

  test("a draft stays with its tab", async () => {
    const page = open(twoTabs(), { kind: "chat" });
    type(page.find("textarea"), "half a thought");
    page.all("[role=tab]")[0]?.click();
    await page.until(() => expect(page.find<HTMLTextAreaElement>("textarea").value).toEqual(""));
    page.all("[role=tab]")[1]?.click();
    await page.until(() => expect(page.find<HTMLTextAreaElement>("textarea").value).toEqual("half a thought"));
  });

  test("a new tab is made by agent and becomes active when it is there", async () => {
    const store = twoTabs();
    store.answer = () => Promise.resolve({ channel: "claude:/three", chat: "claude:/three/chat" });
    const page = open(store, { kind: "chat", tab: "one" });
    page.button("New conversation").click();
    await page.until(() => page.find(".menu-item"));
    page.all(".menu-item")[1]?.click();
    expect(store.requested.filter(({ method }) => method === "createSession")).toEqual([
      { method: "createSession", params: { agent: "claude", ...NEW_TAB } },
    ]);
    addSession(store, "claude:/three");
    store.apply("ahp-root://", { type: "x-agentnb/sessionSet", summary: summary("claude:/three", "Third") });
    await page.until(() => expect(activeTab(page)).toEqual("Claude CodeThird"));
  });

  test("two views of one store keep their own active tab", async () => {
    const store = twoTabs();
    const left = open(store, { kind: "chat" });
    const right = open(store, { kind: "chat" });
    left.all("[role=tab]")[0]?.click();
    await left.until(() => expect(activeTab(left)).toEqual("ElizaFirst"));
    expect(activeTab(right)).toEqual("Claude CodeSecond");
  });
});

describe("a conversation", () => {
  test("streams an answer, and announces its end once", async () => {
    const store = readyStore();
    const page = open(store, { kind: "chat" });
    startTurn(store, "t1", "Hi");
    store.apply(CHAT, {
      type: "chat/responsePart",
      turnId: "t1",
      part: { kind: "markdown", id: "p1", content: "Hel" },
    });
    store.apply(CHAT, { type: "chat/delta", turnId: "t1", partId: "p1", content: "lo **you**" });
    await page.until(() => expect(page.find(".answer").textContent).toEqual("Hello you"));
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1" });
    await page.until(() => expect(page.find("[aria-live=polite]").textContent).toEqual("Eliza has finished."));
    expect(page.find(".answer strong").textContent).toEqual("you");
    expect(page.find("[role=log]").getAttribute("aria-live")).toEqual("off");
  });

  test("a thought is open while the agent thinks and folds when it answers", async () => {
    const store = readyStore();
    const page = open(store, { kind: "chat" });
    startTurn(store, "t1", "Hi");
    store.apply(CHAT, {
      type: "chat/responsePart",
      turnId: "t1",
      part: { kind: "reasoning", id: "p1", content: "**Weighing it**\n\nHm." },
    });
    await page.until(() => expect(page.find(".reasoning .fold-head").getAttribute("aria-expanded")).toEqual("true"));
    store.apply(CHAT, {
      type: "chat/responsePart",
      turnId: "t1",
      part: { kind: "markdown", id: "p2", content: "Yes." },
    });
    await page.until(() => expect(page.find(".reasoning .fold-head").getAttribute("aria-expanded")).toEqual("false"));
    expect(page.find(".reasoning").textContent).toContain("Weighing it");
  });

  test("a thought says how long it takes, and how long it took", async () => {
    const store = readyStore();
    vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const page = open(store, { kind: "chat" });
    startTurn(store, "t1", "Hi");
    store.apply(CHAT, {
      type: "chat/responsePart",
      turnId: "t1",
      part: { kind: "reasoning", id: "p1", content: "Hm." },
    });
    await eventually(() => expect(page.find(".reasoning").textContent).toContain("Thinking…"));
    await vi.advanceTimersByTimeAsync(12_000);
    await page.until(() => expect(page.find(".reasoning .elapsed").textContent).toMatch(/^1\d s$/));
    expect(page.find(".thinking").tabIndex).toEqual(0);
    store.apply(CHAT, {
      type: "chat/responsePart",
      turnId: "t1",
      part: { kind: "markdown", id: "p2", content: "Yes." },
    });
    await page.until(() => expect(page.find(".reasoning .label").textContent).toMatch(/^Thought for 1\d s$/));
    await vi.advanceTimersByTimeAsync(1_000); // the rest of the last second is counted
    const took = page.find(".reasoning .label").textContent;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(page.find(".reasoning .label").textContent).toEqual(took);
  });

  test("a fold that the reader opened stays open while the answer goes on", async () => {
    const store = readyStore();
    const page = open(store, { kind: "chat" });
    startTurn(store, "t1", "Hi");
    store.apply(CHAT, {
      type: "chat/responsePart",
      turnId: "t1",
      part: { kind: "reasoning", id: "p1", content: "Hm." },
    });
    store.apply(CHAT, {
      type: "chat/responsePart",
      turnId: "t1",
      part: { kind: "markdown", id: "p2", content: "Yes" },
    });
    await page.until(() => expect(page.find(".reasoning .fold-head").getAttribute("aria-expanded")).toEqual("false"));
    page.find(".reasoning .fold-head").click();
    store.apply(CHAT, { type: "chat/delta", turnId: "t1", partId: "p2", content: ", indeed" });
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1" });
    await page.until(() => expect(page.text()).toContain("Yes, indeed"));
    expect(page.find(".reasoning .fold-head").getAttribute("aria-expanded")).toEqual("true");
  });

  test("of a long history the last twenty turns are shown first, the others on demand", async () => {
    const store = readyStore();
    for (let at = 1; at <= 75; at += 1) {
      startTurn(store, `t${at}`, `question ${at}`);
      store.apply(CHAT, { type: "chat/turnComplete", turnId: `t${at}` });
    }
    const page = open(store, { kind: "chat" });
    expect(page.all(".turn").length).toEqual(20);
    page.find(".earlier").click();
    await page.until(() => expect(page.all(".turn").length).toEqual(70));
    page.find(".earlier").click();
    await page.until(() => expect(page.all(".turn").length).toEqual(75));
    expect(page.all(".earlier")).toEqual([]);
  });

  test("turns that are not here yet are fetched when the reader wants them", async () => {
    const store = readyStore();
    const turn = (id: string) => ({
      id,
      message: { text: `Question ${id}`, origin: { kind: "user" as const } },
      responseParts: [],
      state: "complete" as const,
    });
    store.chat(CHAT).value = { resource: CHAT, title: "", status: 1, modifiedAt: "", turns: [turn("z")] };
    store.older(CHAT).value = { left: 2, turns: [] };
    const page = open(store, { kind: "chat" });
    expect(page.find(".earlier").textContent).toEqual("Show 2 earlier turns");
    page.find(".earlier").click();
    expect(store.fetched).toEqual([{ channel: CHAT, limit: 50 }]);
    store.older(CHAT).value = { left: 0, turns: [turn("x"), turn("y")] };
    await page.until(() => expect(page.all(".turn").map((el) => el.textContent?.includes("Question"))).toHaveLength(3));
    expect(page.all(".turn")[0]?.textContent).toContain("Question x");
    expect(page.all(".earlier")).toEqual([]);
  });

  test("a conversation on screen is marked as read, once", async () => {
    const store = readyStore();
    store.session(SESSION).value = sessionState(SESSION, 1);
    const page = open(store, { kind: "chat" });
    await page.until(() =>
      expect(store.dispatched).toEqual([{ channel: SESSION, action: { type: "session/isReadChanged", isRead: true } }]),
    );
  });

  test("10,000 deltas in a row are drawn in a few redraws", async () => {
    vi.useFakeTimers({ toFake: ["performance"] }); // no redraw runs out of time, however busy the machine is
    onTestFinished(() => void vi.useRealTimers());
    const store = readyStore();
    const page = open(store, { kind: "chat" });
    startTurn(store, "t1", "Hi");
    store.apply(CHAT, { type: "chat/responsePart", turnId: "t1", part: { kind: "markdown", id: "p1", content: "" } });
    await page.until(() => page.find(".answer .md"));
    let redraws = 0;
    const observer = new MutationObserver(() => {
      redraws += 1;
    });
    observer.observe(page.find(".answer"), { subtree: true, childList: true, characterData: true });
    for (let at = 0; at < 10_000; at += 1) {
      store.apply(CHAT, { type: "chat/delta", turnId: "t1", partId: "p1", content: "word " });
    }
    await page.until(() => expect(page.find(".answer").textContent?.length).toBeGreaterThan(49_990));
    observer.disconnect();
    expect(redraws).toBeLessThan(10);
  });
});

describe("mounting", () => {
  test("puts a shadow root on a fresh child and takes everything away at the end", () => {
    const store = readyStore();
    const page = open(store, { kind: "chat" });
    const el = page.host.parentElement as HTMLElement;
    expect(el.shadowRoot).toEqual(null);
    expect(page.root.mode).toEqual("open");
    expect([...store.visible.values()]).toEqual([true]);
    page.unmount();
    expect(el.childElementCount).toEqual(0);
    expect(store.visible.size).toEqual(0);
  });
});
