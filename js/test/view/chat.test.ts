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

const NEW_TAB = { tabId: expect.any(String), reuse: true, freedom: "ask" };

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

const ROOT = "ahp-root://";
const MADE = { channel: SESSION, chat: CHAT };

function addRoot(store: MemoryStore, agent: string | undefined): void {
  const before = store.root.peek() ?? { agents: [AGENT], sessions: [] };
  store.root.value = { ...before, config: { schema: {}, values: agent === undefined ? {} : { agent } } };
}

/** A chat without a conversation; its kernel may have a default agent. */
function without(agent: string | undefined) {
  const store = Object.assign(new MemoryStore(), { module: fetchModule });
  addRoot(store, agent);
  store.answer = (method) => Promise.resolve(method === "createSession" ? MADE : {});
  const page = open(store, { kind: "chat" });
  return { store, page, box: () => page.find<HTMLTextAreaElement>(".prompt textarea") };
}

const sentTo = (store: MemoryStore, chat: string) =>
  store.dispatched.flatMap(({ channel, action }) =>
    channel === chat && action.type === "chat/turnStarted" ? [action.message.text] : [],
  );

const tabNames = (page: ReturnType<typeof open>) => page.all("[role=tab]").map((tab) => tab.textContent);
const activeTab = (page: ReturnType<typeof open>) => page.find("[role=tab][aria-selected=true]").textContent;

describe("the chat without a conversation", () => {
  test("shows that it is connecting", () => {
    const store = new MemoryStore();
    store.connection.value = "connecting";
    expect(open(store, { kind: "chat" }).text()).toContain("Connecting to the kernel");
  });

  test("starts a conversation with the default agent on send", async () => {
    const { store, page, box } = without("eliza");
    await page.until(() => expect(page.find(".pill").getAttribute("aria-label")).toEqual("Agent: Eliza"));
    expect(store.requested.some(({ method }) => method === "createSession")).toEqual(false);
    type(box(), "Hello");
    await page.until(() => page.button("Send message"));
    press(box(), "Enter");
    await page.until(() => expect(sentTo(store, CHAT)).toEqual(["Hello"]));
    expect(store.requested.filter(({ method }) => method === "createSession")).toEqual([
      { method: "createSession", params: { agent: "eliza", ...NEW_TAB } },
    ]);
    const before = box();
    type(box(), "And"); // before its tab exists
    addSession(store, SESSION);
    store.apply(ROOT, { type: "x-agentnb/sessionSet", summary: summary(SESSION, "First") });
    await page.until(() => expect(activeTab(page)).toContain("First"));
    await page.until(() => expect([box() === before, box().value]).toEqual([true, "And"])); // it keeps the focus
  });

  test("opens the conversation it started, not one of another window", async () => {
    const store = readyStore();
    addRoot(store, "eliza");
    const page = open(store, { kind: "chat" });
    let answer: (made: { channel: string }) => void = () => {};
    store.answer = (method) =>
      method === "createSession" ? new Promise((resolve) => (answer = resolve)) : Promise.resolve({});
    page.button("New conversation").click();
    await page.until(() => expect(page.all("[aria-selected=true]")).toEqual([]));
    const box = page.find<HTMLTextAreaElement>(".prompt textarea");
    type(box, "Hello");
    await page.until(() => page.button("Send message"));
    press(box, "Enter");
    for (const name of ["of-another-window", "mine", "of-a-third"])
      store.apply(ROOT, { type: "x-agentnb/sessionSet", summary: summary(`eliza:/${name}`, name) });
    answer({ channel: "eliza:/mine" });
    await page.until(() => expect(activeTab(page)).toContain("mine"));
  });

  test.each(["before", "after"])(
    "sends a message entered %s the kernel's answer, before its tab exists",
    async (when) => {
      const { store, page, box } = without("eliza");
      let answer: (made: typeof MADE) => void = () => {};
      store.answer = (method) =>
        method === "createSession" ? new Promise((resolve) => (answer = resolve)) : Promise.resolve({});
      await page.until(() => expect(page.find(".pill").textContent).toEqual("Eliza"));
      page.find(".pill").click();
      await page.until(() => page.find(".pop-item"));
      page.find(".pop-item").click();
      type(box(), "Hello");
      await page.until(() => page.button("Send message"));
      if (when === "before") press(box(), "Enter");
      answer(MADE);
      await new Promise(requestAnimationFrame);
      await page.until(() => expect(page.all(".agents-pop")).toEqual([]));
      if (when === "after") press(box(), "Enter");
      addSession(store, SESSION);
      store.apply(ROOT, { type: "x-agentnb/sessionSet", summary: summary(SESSION, "First") });
      await page.until(() => expect(activeTab(page)).toContain("First"));
      await page.until(() => expect([sentTo(store, CHAT), box().value]).toEqual([["Hello"], ""]));
    },
  );

  test("keeps the text and shows an error when the agent can't start", async () => {
    const { store, page, box } = without("eliza");
    store.answer = (method) =>
      method === "createSession" ? Promise.reject(new Error("eliza is not installed")) : Promise.resolve({});
    type(box(), "Hello");
    await page.until(() => page.button("Send message"));
    press(box(), "Enter");
    await page.until(() => expect(page.find(".error-card").textContent).toContain("eliza is not installed"));
    expect([page.find(".error-card").textContent, box().value]).toEqual([
      expect.stringContaining("Eliza couldn't start"),
      "Hello",
    ]);
    store.answer = (method) => Promise.resolve(method === "createSession" ? MADE : {});
    press(box(), "Enter");
    await page.until(() => expect([sentTo(store, CHAT), box().value]).toEqual([["Hello"], ""]));
    expect(page.all(".error-card")).toEqual([]);
  });

  test("offers an install without an agent and sends once one is chosen", async () => {
    const { store, page, box } = without("");
    expect(page.find(".pill").textContent).toEqual("Choose an agent");
    expect(page.all(".ways button").map((one) => one.textContent)).toEqual(["Install an agent", "Tour"]);
    type(box(), "Hello");
    await page.until(() => page.button("Send message"));
    press(box(), "Enter");
    await page.until(() => expect(page.all(".pop-item").map((one) => one.textContent)).toEqual(["ElizaBuilt in"]));
    page.find(".pop-item").click();
    await page.until(() => expect([sentTo(store, CHAT), box().value]).toEqual([["Hello"], ""]));
  });

  test("holds a message until the kernel reports the default agent", async () => {
    const { store, page, box } = without(undefined);
    type(box(), "Hello");
    await page.until(() => page.button("Send message"));
    press(box(), "Enter");
    expect([store.requested.filter(({ method }) => method === "createSession"), box().value]).toEqual([[], "Hello"]);
    store.apply(ROOT, { type: "root/configChanged", config: { agent: "eliza" } });
    await page.until(() => expect([sentTo(store, CHAT), box().value]).toEqual([["Hello"], ""]));
  });

  test("sends a notebook's prompt and folds the part for the agent", async () => {
    const { store, page } = without("eliza");
    const detail = "Fix the error in [2]: @error:2\n\nFind the cause.";
    const event = new CustomEvent("agentnb-send", { detail, cancelable: true });
    expect(page.host.dispatchEvent(event)).toEqual(false);
    await page.until(() => expect(sentTo(store, CHAT)).toEqual([detail]));
    addSession(store, SESSION);
    store.apply(ROOT, { type: "x-agentnb/sessionSet", summary: summary(SESSION, "First") });
    const { action } = store.dispatched.find(({ channel }) => channel === CHAT) as (typeof store.dispatched)[0];
    store.apply(CHAT, action);
    await page.until(() => expect(page.find(".user-text").textContent).toEqual("Fix the error in [2]: @error:2"));
    expect(page.find<HTMLDetailsElement>(".for-agent").open).toEqual(false);
    expect(page.find(".for-agent .user-text").textContent).toEqual("Find the cause.");
  });

  test("shows a spinner while the agent starts", () => {
    const store = readyStore();
    const agentProcess = { state: "starting" } as const;
    store.session(SESSION).value = { ...sessionState(SESSION), lifecycle: "creating", agentProcess };
    expect(open(store, { kind: "chat" }).all(".pill .spinner")).toHaveLength(1);
  });

  test("names the agent in an empty conversation", () => {
    const page = open(readyStore(), { kind: "chat" });
    expect(page.text()).toContain("Ask Eliza");
    expect(page.all(".examples")).toEqual([]); // an older kernel sends no examples
  });

  test("inserts an example into the message box and keeps typed text", async () => {
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
    const requestCount = () => store.requested.filter(({ method }) => method === "suggestPrompts").length;
    const before = requestCount();
    page.find(".empty").dispatchEvent(new Event("pointerenter")); // cells may have run since
    await page.until(() => expect(requestCount()).toEqual(before + 1));
  });
});

describe("tabs", () => {
  test("show agent and title, and the newest is active", () => {
    const page = open(twoTabs(), { kind: "chat" });
    expect(tabNames(page)).toEqual(["ElizaFirst", "Claude CodeSecond"]);
    expect(activeTab(page)).toEqual("Claude CodeSecond");
  });

  test("open by id or channel when a view requests one", () => {
    expect(activeTab(open(twoTabs(), { kind: "chat", tab: "one" }))).toEqual("ElizaFirst");
    expect(activeTab(open(twoTabs(), { kind: "chat", tab: SESSION }))).toEqual("ElizaFirst");
  });

  test("switch with the arrow keys and label their panel", async () => {
    const page = open(twoTabs(), { kind: "chat" });
    press(page.find("[aria-selected=true]"), "ArrowRight");
    await page.until(() => expect(activeTab(page)).toEqual("ElizaFirst"));
    expect(page.find("[aria-selected=true]").getAttribute("tabindex")).toEqual("0");
    const panel = page.find("[role=tabpanel]");
    expect(panel.id).toEqual(page.find("[aria-selected=true]").getAttribute("aria-controls"));
    expect(panel.getAttribute("aria-labelledby")).toEqual(page.find("[aria-selected=true]").id);
  });

  test("show the status of each session", () => {
    const store = twoTabs();
    store.root.value = {
      agents: [AGENT],
      sessions: [summary("eliza:/a", "", 24), summary("eliza:/b", "", 8), summary("eliza:/c", "", 2), summary(SESSION)],
    };
    const page = open(store, { kind: "chat" });
    expect(tabNames(page)).toEqual(["needs you: Eliza", "working: Eliza", "error: Eliza", "Eliza"]);
  });

  test("keep their own drafts when switched", async () => {
    const page = open(twoTabs(), { kind: "chat" });
    type(page.find("textarea"), "half a thought");
    page.all("[role=tab]")[0]?.click();
    await page.until(() => expect(page.find<HTMLTextAreaElement>("textarea").value).toEqual(""));
    page.all("[role=tab]")[1]?.click();
    await page.until(() => expect(page.find<HTMLTextAreaElement>("textarea").value).toEqual("half a thought"));
  });

  test("open a new one for another agent and keep the one with messages", async () => {
    const store = Object.assign(twoTabs(), { module: fetchModule });
    startTurn(store, "t1", "Hi");
    store.answer = () => Promise.resolve({ channel: "claude:/three", chat: "claude:/three/chat" });
    const page = open(store, { kind: "chat", tab: "one" });
    page.find(".pill").click();
    await page.until(() =>
      expect(page.text()).toContain("Choosing another agent starts a new conversation; this one stays open."),
    );
    page.all(".pop-item")[1]?.click();
    expect(store.requested.filter(({ method }) => method === "createSession")).toEqual([
      { method: "createSession", params: { agent: "claude", ...NEW_TAB } },
    ]);
    addSession(store, "claude:/three");
    store.apply("ahp-root://", { type: "x-agentnb/sessionSet", summary: summary("claude:/three", "Third") });
    await page.until(() => expect(activeTab(page)).toEqual("Claude CodeThird"));
    expect(store.dispatched).toEqual([]);
  });

  test("are replaced when empty and another agent is chosen; the draft stays", async () => {
    const store = Object.assign(twoTabs(), { module: fetchModule });
    store.answer = () => Promise.resolve({ channel: "claude:/three", chat: "claude:/three/chat" });
    const page = open(store, { kind: "chat", tab: "one" });
    const box = page.find<HTMLTextAreaElement>(".prompt textarea");
    type(box, "half a thought");
    page.find(".pill").click();
    await page.until(() => expect(page.all(".pop-item")).toHaveLength(2));
    page.all(".pop-item")[1]?.click();
    addSession(store, "claude:/three");
    store.apply("ahp-root://", { type: "x-agentnb/sessionSet", summary: summary("claude:/three", "Third") });
    await page.until(() => expect(activeTab(page)).toEqual("Claude CodeThird"));
    expect([page.find(".prompt textarea") === box, box.value]).toEqual([true, "half a thought"]);
    expect(store.dispatched).toEqual([
      { channel: SESSION, action: { type: "session/isArchivedChanged", isArchived: true } },
    ]);
  });

  test("are active for each view separately", async () => {
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

  test("shows thinking open, then folds it when the answer starts", async () => {
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

  test("shows how long thinking takes and took", async () => {
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

  test("keeps a fold open that the user opened while the answer streams", async () => {
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

  test("shows the last 20 turns of a long history and others on demand", async () => {
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

  test("fetches earlier turns when the user requests them", async () => {
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

  test("is marked as read once when it is visible", async () => {
    const store = readyStore();
    store.session(SESSION).value = sessionState(SESSION, 1);
    const page = open(store, { kind: "chat" });
    await page.until(() =>
      expect(store.dispatched).toEqual([{ channel: SESSION, action: { type: "session/isReadChanged", isRead: true } }]),
    );
  });

  test("draws 10,000 deltas in fewer than 10 redraws", async () => {
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
  test("adds a child with a shadow root and removes it on unmount", () => {
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
