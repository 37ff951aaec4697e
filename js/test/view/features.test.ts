import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Action, ActiveTurn, ChatInputRequest, ChatState, SessionState, Turn } from "../../src/state/types.gen";
import { turnMarkdown } from "../../src/view/export";
import { AGENT, addSession, CHAT, type MemoryStore, readyStore, SESSION, startTurn, summary } from "./memory-store";
import { fetchModule } from "./modules";
import { fakeTimers, open, type Page, press, type } from "./page";

const OTHER = "eliza:/two";
type Sent = Record<string, unknown>;

function tabs() {
  const store = readyStore();
  addSession(store, OTHER);
  store.root.value = { agents: [AGENT], sessions: [summary(SESSION, "First"), summary(OTHER, "Second")] };
  return { store, page: open(store, { kind: "chat", tab: "one" }) };
}

const sent = (store: MemoryStore) => store.dispatched.map(({ action }) => action as unknown as Sent);
const box = (page: Page) => page.find<HTMLTextAreaElement>("textarea");
const selected = (page: Page) => page.find("[aria-selected=true][role=tab]");

async function choose(page: Page, item: string) {
  page.button("Conversation").click();
  await page.until(() => page.find("[role=menuitem]"));
  (page.all("[role=menuitem]").find((one) => one.textContent?.startsWith(item)) as HTMLElement).click();
}

function endTurn(store: MemoryStore, id: string, question: string, answer: string) {
  startTurn(store, id, question);
  store.apply(CHAT, {
    type: "chat/responsePart",
    turnId: id,
    part: { kind: "markdown", id: `p${id}`, content: answer },
  });
  store.apply(CHAT, { type: "chat/turnComplete", turnId: id, stopReason: "end_turn" });
}

describe("a tab", () => {
  test("is renamed by its menu, by F2 and by a double click", async () => {
    const { store, page } = tabs();
    await choose(page, "Rename");
    await page.until(() => page.find("[aria-label='Name of the conversation']"));
    const field = page.find<HTMLInputElement>("[aria-label='Name of the conversation']");
    expect(field.value).toEqual("First");
    field.value = "  Residuals ";
    field.form?.requestSubmit();
    expect(sent(store)).toEqual([{ type: "session/titleChanged", title: "Residuals" }]);
    await page.until(() => expect(page.all(".bar-form")).toEqual([]));
    press(selected(page), "F2");
    await page.until(() => page.find(".bar-form"));
    press(page.find(".bar-form input"), "Escape");
    await page.until(() => expect(page.all(".bar-form")).toEqual([]));
    selected(page).dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
    await page.until(() => page.find(".bar-form"));
  });

  test("is duplicated by its menu if the agent can fork, and shows the copy", async () => {
    const { store, page } = tabs();
    const names = () => page.all("[role=menuitem] .menu-name").map((one) => one.textContent);
    page.button("Conversation").click();
    await page.until(() => expect(names()).toContain("Rename"));
    expect(names()).not.toContain("Duplicate");
    store.apply(SESSION, { type: "x-agentnb/agentChanged", agentProcess: { state: "running", fork: true } });
    await page.until(() => expect(names()).toContain("Duplicate"));
    page.button("Conversation").click();
    await page.until(() => expect(names()).toEqual([]));
    store.answer = () => Promise.reject(new Error("A turn runs in 'First'."));
    await choose(page, "Duplicate");
    expect(store.requested.at(-1)).toEqual({ method: "forkSession", params: { channel: SESSION } });
    await page.until(() => expect(page.text()).toContain("The conversation couldn't be duplicated"));
    expect(page.text()).toContain("A turn runs in 'First'.");
    store.answer = () => Promise.resolve({ channel: "eliza:/copy", chat: "eliza:/copy/chat" });
    await choose(page, "Duplicate");
    await page.until(() => expect(page.text()).not.toContain("couldn't be duplicated"));
    addSession(store, "eliza:/else");
    store.apply("ahp-root://", { type: "x-agentnb/sessionSet", summary: summary("eliza:/else", "Else") });
    addSession(store, "eliza:/copy");
    store.apply("ahp-root://", { type: "x-agentnb/sessionSet", summary: summary("eliza:/copy", "First (copy)") });
    await page.until(() => expect(selected(page).textContent).toContain("First (copy)"));
    page.button("Conversation").click();
    await page.until(() => expect(names()).toContain("Rename"));
    expect(names()).not.toContain("Duplicate");
  });

  test("restarts its agent by its menu and shows why that failed", async () => {
    const { store, page } = tabs();
    store.answer = () => Promise.reject(new Error("eliza is not installed"));
    await choose(page, "Restart agent");
    expect(store.requested.at(-1)).toEqual({ method: "restartAgent", params: { channel: SESSION } });
    await page.until(() => expect(page.find(".error-card").textContent).toContain("eliza is not installed"));
    expect(page.find(".error-card").textContent).toContain("couldn't be restarted");
  });

  test("closes on a click on its cross and on a middle click", () => {
    const { store, page } = tabs();
    const [first, second] = page.all("[role=tab]") as [HTMLElement, HTMLElement];
    expect(second.querySelector(".tab-close")?.getAttribute("aria-hidden")).toEqual("true");
    second.querySelector<HTMLElement>(".tab-close")?.click();
    first.dispatchEvent(new MouseEvent("auxclick", { button: 1, bubbles: true }));
    expect(store.dispatched.map(({ channel }) => channel)).toEqual([OTHER, SESSION]);
  });

  test("is marked as unread only while another tab is active", async () => {
    const { store, page } = tabs();
    store.apply("ahp-root://", { type: "x-agentnb/sessionSet", summary: summary(OTHER, "Second", 1) });
    store.apply("ahp-root://", { type: "x-agentnb/sessionSet", summary: summary(SESSION, "First", 1) });
    const names = () => page.all("[role=tab]").map((tab) => tab.textContent);
    await page.until(() => expect(names()).toEqual(["ElizaFirst", "unread: ElizaSecond"]));
  });
});

describe("drafts", () => {
  test("are marked on the tab, shared by the views, and cleared when sent", async () => {
    const { store, page } = tabs();
    const twin = open(store, { kind: "chat", tab: "one" });
    type(box(page), "half a thought");
    await page.until(() => expect(box(twin).value).toEqual("half a thought"));
    page.all("[role=tab]")[1]?.click();
    await page.until(() => expect(page.all("[role=tab]")[0]?.textContent).toEqual("draft: ElizaFirst"));
    page.all("[role=tab]")[0]?.click();
    await page.until(() => expect(box(page).value).toEqual("half a thought"));
    press(box(page), "Enter");
    await page.until(() => expect([box(page).value, box(twin).value]).toEqual(["", ""]));
    expect(Object.keys(sessionStorage).filter((key) => key.startsWith("agentnb draft"))).toEqual([]);
  });

  test("reach the kernel in half a second, or at once on leaving the tab", async () => {
    fakeTimers();
    try {
      const { store, page } = tabs();
      const notifications: unknown[] = [];
      store.notify = (method, params) => notifications.push([method, params]);
      type(box(page), "a");
      type(box(page), "ab");
      expect(notifications).toEqual([]);
      vi.advanceTimersByTime(500);
      expect(notifications).toEqual([["draft", { channel: CHAT, text: "ab" }]]);
      type(box(page), "abc");
      page.all("[role=tab]")[1]?.click();
      expect(notifications.at(-1)).toEqual(["draft", { channel: CHAT, text: "abc" }]);
      type(box(page), "abcd");
      window.dispatchEvent(new Event("pagehide"));
      expect(notifications.at(-1)).toEqual(["draft", { channel: CHAT, text: "abcd" }]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("of another window do not replace text that is typed here", async () => {
    const store = readyStore();
    const page = open(store, { kind: "chat" });
    store.drafts.value = { [CHAT]: "from elsewhere" };
    await page.until(() => expect(box(page).value).toEqual("from elsewhere"));
    box(page).focus();
    type(box(page), "mine");
    store.drafts.value = { [CHAT]: "theirs" };
    expect(box(page).value).toEqual("mine");
  });

  test("of another window replace the text once the box loses focus", async () => {
    const { store, page } = tabs();
    const notifications: unknown[] = [];
    store.notify = (_, params) => notifications.push(params);
    box(page).focus();
    type(box(page), "mine");
    window.dispatchEvent(new Event("pagehide")); // saved, and sent to the kernel
    store.drafts.value = { [CHAT]: "mine, and theirs" };
    expect(box(page).value).toEqual("mine");
    box(page).blur();
    await page.until(() => expect(box(page).value).toEqual("mine, and theirs"));
    store.drafts.value = { [CHAT]: "" }; // another window sent it
    await page.until(() => expect(box(page).value).toEqual(""));
    const { page: again } = tabs(); // as after a reload
    expect(box(again).value).toEqual("");
  });

  test("of another window replace a focused box if its window has no focus", async () => {
    const { store, page } = tabs();
    store.drafts.value = { [CHAT]: "from elsewhere" };
    box(page).focus();
    Object.assign(document, { hasFocus: () => false });
    onTestFinished(() => void Reflect.deleteProperty(document, "hasFocus"));
    store.drafts.value = { [CHAT]: "" };
    await page.until(() => expect(box(page).value).toEqual(""));
  });

  test("stay with a conversation that is reopened in the next kernel", async () => {
    const store = readyStore();
    const page = open(store, { kind: "chat" });
    type(box(page), "precious words");
    page.unmount();
    store.root.value = { agents: [AGENT], sessions: [summary(SESSION, "First"), summary("eliza:/fresh")] };
    addSession(store, "eliza:/fresh");
    store.hostId.value = "another";
    const again = open(store, { kind: "chat" });
    await again.until(() => expect(box(again).value).toEqual(""));
    expect(again.all("[aria-label^='Drafts from']")).toEqual([]);
    again.all("[role=tab]")[0]?.click();
    await again.until(() => expect(box(again).value).toEqual("precious words"));
  });
});

describe("a reloaded view", () => {
  test("keeps its own active tab, separately from other views", async () => {
    const before = tabs();
    const twin = open(before.store, { kind: "chat", tab: "one" });
    before.page.all("[role=tab]")[1]?.click();
    await before.page.until(() => expect(selected(before.page).textContent).toContain("Second"));
    before.page.unmount();
    twin.unmount();
    const after = tabs();
    const other = open(after.store, { kind: "chat", tab: "one" });
    expect(selected(after.page).textContent).toContain("Second");
    expect(selected(other).textContent).toContain("First");
  });
});

describe("the queue", () => {
  function queued() {
    const store = readyStore();
    startTurn(store, "t0", "running");
    for (const id of ["a", "b"]) {
      const message = { text: `message ${id}`, origin: { kind: "user" } };
      store.apply(CHAT, { type: "chat/pendingMessageSet", kind: "queued", id, message });
    }
    return { store, page: open(store, { kind: "chat" }) };
  }

  test("keeps the other messages on hold when one is sent now", async () => {
    const { store, page } = queued();
    store.apply(CHAT, { type: "chat/turnCancelled", turnId: "t0", holdQueue: true });
    await page.until(() => page.button("Send now: message b"));
    page.button("Send now: message b").click();
    expect(sent(store)).toEqual([{ type: "chat/queuedMessagesReordered", order: ["b"], held: false }]);
    await page.until(() => expect(page.find(".queue-held").textContent).toContain("1 message is on hold."));
  });

  test("sends a message into the running turn if the agent supports it", async () => {
    const { store, page } = queued();
    const agentProcess = { state: "running", steering: true } as const;
    store.apply(SESSION, { type: "x-agentnb/agentChanged", agentProcess });
    const now = "Send now into the running turn: message b";
    await page.until(() => page.button(now));
    page.button(now).click();
    const message = { text: "message b", origin: { kind: "user" } };
    expect(sent(store)).toEqual([{ type: "chat/pendingMessageSet", kind: "steering", id: "b", message }]);
  });

  test("moves an edit to the message box if the original was already sent", async () => {
    const { store, page } = queued();
    page.button("Edit: message a").click();
    await page.until(() => page.find(".queue textarea"));
    page.find<HTMLTextAreaElement>(".queue textarea").value = "message a, but";
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t0" });
    const message = { text: "message a", origin: { kind: "user" } };
    store.apply(CHAT, { type: "chat/turnStarted", turnId: "a", message, queuedMessageId: "a" });
    await page.until(() => expect(page.find<HTMLTextAreaElement>(".prompt textarea").value).toEqual("message a, but"));
    expect(page.find("[aria-live=polite]").textContent).toEqual(
      "The original was sent; your edit is in the message box. Eliza has finished.",
    );
    expect(sent(store)).toEqual([]);
  });

  test("saves an open edit when its view closes", async () => {
    const { store, page } = queued();
    page.button("Edit: message a").click();
    await page.until(() => page.find(".queue textarea"));
    page.find<HTMLTextAreaElement>(".queue textarea").value = "message a, but";
    page.unmount();
    expect(sent(store)).toMatchObject([
      { type: "chat/pendingMessageSet", id: "a", message: { text: "message a, but" } },
    ]);
  });

  test("discards the edit of a message on Escape", async () => {
    const { store, page } = queued();
    page.button("Edit: message a").click();
    await page.until(() => page.find(".queue textarea"));
    page.find<HTMLTextAreaElement>(".queue textarea").value = "no";
    press(page.find(".queue textarea"), "Escape");
    await page.until(() => expect(page.all(".queue textarea")).toEqual([]));
    expect(sent(store)).toEqual([]);
  });
});

describe("completion", () => {
  const completionRequests = (store: MemoryStore) => store.requested.filter(({ method }) => method === "complete");

  test("offers agent commands after a leading slash and accepts with Enter", async () => {
    const store = readyStore();
    store.apply(SESSION, {
      type: "x-agentnb/commandsChanged",
      commands: [
        { name: "compact", description: "Shorten" },
        { name: "plan", description: "Plan first", hint: "goal" },
      ],
    });
    const page = open(store, { kind: "chat" });
    type(box(page), "/pl");
    await page.until(() =>
      expect(page.all("[role=option]").map((one) => one.textContent)).toEqual(["/plan‹goal› Plan first"]),
    );
    expect(box(page).getAttribute("aria-activedescendant")).toEqual(page.find("[role=option]").id);
    press(box(page), "Enter");
    await page.until(() => expect(box(page).value).toEqual("/plan "));
    expect(store.dispatched).toEqual([]);
    await page.until(() => expect(page.all("[role=option]")).toEqual([]));
  });

  test("requests mentions after an @, selects with arrows, closes on Escape", async () => {
    const store = readyStore();
    store.answer = () =>
      Promise.resolve({
        items: [
          { text: "df", kind: "variable", detail: "DataFrame, shape (3, 2)" },
          { text: "my data.csv", kind: "file", detail: "" },
        ],
      });
    const page = open(store, { kind: "chat" });
    type(box(page), "look at @d");
    await page.until(() => expect(page.all("[role=option]").length).toEqual(2));
    expect(completionRequests(store)).toEqual([{ method: "complete", params: { channel: CHAT, start: "d" } }]);
    expect(page.find("[role=option]").textContent).toContain("shape (3, 2)");
    press(box(page), "ArrowDown");
    await page.until(() => expect(page.find("[aria-selected=true][role=option]").textContent).toContain("my data.csv"));
    press(box(page), "Tab");
    await page.until(() => expect(box(page).value).toEqual('look at @"my data.csv" '));
    type(box(page), "look at @d");
    await page.until(() => expect(page.all("[role=option]").length).toEqual(2));
    press(box(page), "Escape");
    await page.until(() => expect(page.all("[role=option]")).toEqual([]));
  });

  test("does not treat an email address as a mention", async () => {
    fakeTimers();
    const store = readyStore();
    const page = open(store, { kind: "chat" });
    type(box(page), "write to ada@exa");
    await vi.advanceTimersByTimeAsync(1000);
    expect(completionRequests(store)).toEqual([]);
    type(box(page), "write to ada@exa @d");
    await vi.advanceTimersByTimeAsync(1000);
    expect(completionRequests(store)).toEqual([{ method: "complete", params: { channel: CHAT, start: "d" } }]);
  });
});

describe("pictures", () => {
  const png = (size = 8, name = "plot.png") => new File([new Uint8Array(size)], name, { type: "image/png" });
  function paste(page: Page, ...files: File[]) {
    const event = new Event("paste", { bubbles: true, cancelable: true });
    Object.assign(event, { clipboardData: { files } });
    box(page).dispatchEvent(event);
  }

  test("are pasted, shown, sent with the message and then removed", async () => {
    const store = readyStore();
    const page = open(store, { kind: "chat" });
    paste(page, png());
    await page.until(() =>
      expect(page.find<HTMLImageElement>(".pictures img").src).toContain("data:image/png;base64,"),
    );
    expect(page.button("Send message").disabled).toEqual(false);
    press(box(page), "Enter");
    expect(sent(store)[0]).toMatchObject({
      message: {
        attachments: [{ type: "embeddedResource", label: "plot.png", contentType: "image/png", data: "AAAAAAAAAAA=" }],
      },
    });
    await page.until(() => expect(page.all(".pictures")).toEqual([]));
    store.refuse("No.");
    await page.until(() => page.find(".pictures img")); // the refused pictures are back
  });

  test.each([
    [() => new File(["x"], "notes.txt", { type: "text/plain" }), "notes.txt isn't a picture"],
    [() => new File(["<svg/>"], "x.svg", { type: "image/svg+xml" }), "x.svg isn't a picture"],
    [() => png(4 * 1024 * 1024), "the limit for a picture is 3.0 MB"],
  ])("are rejected with a reason when the type or size is not allowed", async (file, reason) => {
    const page = open(readyStore(), { kind: "chat" });
    paste(page, file());
    await page.until(() => expect(page.find("[role=alert]").textContent).toContain(reason));
    expect(page.all(".pictures")).toEqual([]);
  });

  test("are part of the draft: shared, kept on reload and cleared on send", async () => {
    const { store, page } = tabs();
    const other = open(store, { kind: "chat", tab: "one" });
    paste(page, png());
    for (const view of [page, other]) await view.until(() => view.find(".pictures img"));
    (page.all("[role=tab]")[1] as HTMLElement).click();
    await page.until(() => expect(page.all("[role=tab]")[0]?.title).toContain("(draft)"));
    const { page: again } = tabs(); // a reloaded page has new stores
    await again.until(() => again.find(".pictures img"));
    expect(again.text()).not.toContain("reloading the page removes them");
    press(box(again), "Enter");
    expect(Object.keys(sessionStorage).filter((key) => key.startsWith("agentnb pictures"))).toEqual([]);
  });

  test("show a warning when they are too large to survive a reload", async () => {
    const { page } = tabs();
    paste(page, png(1_600_000));
    await page.until(() => expect(page.text()).toContain("reloading the page removes them"));
    const { page: again } = tabs();
    expect(again.all(".pictures")).toEqual([]);
  });

  test("are rejected when their total size exceeds the limit", async () => {
    const page = open(readyStore(), { kind: "chat" });
    paste(page, png(2.5 * 1024 * 1024, "one.png"), png(2.9 * 1024 * 1024, "two.png"));
    await page.until(() => expect(page.find("[role=alert]").textContent).toContain("two.png wasn't added"));
    expect(page.all(".pictures img").length).toEqual(1);
    page.button("Remove one.png").click();
    await page.until(() => expect(page.all(".pictures")).toEqual([]));
  });
});

/** A chat with the list of its agent pill. */
async function withList(store: ReturnType<typeof readyStore>) {
  const page = open(Object.assign(store, { module: fetchModule }), { kind: "chat" });
  page.find(".pill").click();
  await page.until(() => page.find(".pop-settings"));
  return page;
}

describe("selectors", () => {
  const options = [
    {
      id: "effort",
      name: "Effort",
      category: "thought_level",
      type: "select",
      currentValue: "low",
      options: [
        { value: "low", name: "Low" },
        { value: "high", name: "High" },
      ],
    },
    {
      id: "model",
      name: "Model",
      category: "model",
      type: "select",
      currentValue: "a",
      options: [{ group: "g", name: "Group", options: [{ value: "a", name: "A" }] }],
    },
    { id: "web", name: "Web search", type: "boolean", currentValue: false },
    { id: "odd", type: "future", currentValue: 7 },
    { name: "nameless" },
  ];

  test("show the agent's warning about the chosen option as plain text", async () => {
    const store = readyStore();
    const page = open(store, { kind: "chat" });
    const option = { id: "model", name: "Model", category: "model", type: "select", currentValue: "a" };
    const choose = (...metas: unknown[]) =>
      store.apply(SESSION, {
        type: "x-agentnb/configOptionsChanged",
        configOptions: metas.map((_meta) => ({ ...option, _meta })),
      });
    choose({ agentnb: { warning: "a cannot use <b>tools</b>." } });
    await page.until(() => expect(page.find(".banner").textContent).toBe("a cannot use <b>tools</b>."));
    choose({ agentnb: { warning: 7 } }, { agentnb: null }, [], "x", undefined);
    await page.until(() => expect(page.all(".banner")).toEqual([]));
  });

  test("list the agent's options in a fixed order and send choices", async () => {
    const store = readyStore();
    store.apply(SESSION, { type: "x-agentnb/configOptionsChanged", configOptions: options });
    const page = await withList(store);
    expect(
      page.all(".selector").map((one) => one.querySelector(".selector-name")?.textContent ?? one.textContent),
    ).toEqual(["Model", "Effort", "Web search"]);
    const effort = page.find<HTMLSelectElement>("[aria-label=Effort]");
    effort.value = "high";
    effort.dispatchEvent(new Event("change", { bubbles: true }));
    page.find<HTMLInputElement>(".selector input").click();
    expect(sent(store)).toEqual([
      { type: "x-agentnb/configOptionChosen", configId: "effort", value: "high" },
      { type: "x-agentnb/configOptionChosen", configId: "web", value: true },
    ]);
  });

  test("include the agent's modes", async () => {
    const store = readyStore();
    const modes = {
      currentModeId: "ask",
      availableModes: [
        { id: "ask", name: "Ask" },
        { id: "code", name: "Code" },
      ],
    };
    store.apply(SESSION, { type: "x-agentnb/modesChanged", modes });
    const page = await withList(store);
    const mode = page.find<HTMLSelectElement>("[aria-label=Mode]");
    expect(mode.value).toEqual("ask");
    mode.value = "code";
    mode.dispatchEvent(new Event("change", { bubbles: true }));
    expect(sent(store)).toEqual([{ type: "x-agentnb/modeChanged", modeId: "code" }]);
  });

  test("show tokens, cost and context usage", async () => {
    const store = readyStore();
    store.apply(SESSION, {
      type: "x-agentnb/contextUsageChanged",
      used: 50_000,
      size: 200_000,
      cost: { amount: 0.25, currency: "EUR" },
    });
    startTurn(store, "t", "x");
    store.apply(CHAT, { type: "chat/usage", turnId: "t", usage: { inputTokens: 1200, outputTokens: 300 } });
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t" });
    const usage = "1,500 tokens in this conversation. Cost: €0.25. 50,000 of 200,000 context tokens used (25%).";
    expect((await withList(store)).text()).toContain(usage);
  });

  test("warn about a nearly full context", async () => {
    const store = readyStore();
    const fill = (used: number) => store.apply(SESSION, { type: "x-agentnb/contextUsageChanged", used, size: 200_000 });
    fill(170_000);
    const page = open(store, { kind: "chat" });
    expect(page.all(".context-full")).toEqual([]);
    fill(180_000);
    await page.until(() => expect(page.find(".context-full").textContent).toEqual("90% full"));
    expect(page.find(".context-full").title).toContain("Start a new conversation");
  });
});

test("counts the tokens of loaded turns only and states their number", async () => {
  const store = readyStore();
  startTurn(store, "t", "x");
  store.apply(CHAT, { type: "chat/usage", turnId: "t", usage: { inputTokens: 1200, outputTokens: 300 } });
  store.apply(CHAT, { type: "chat/turnComplete", turnId: "t" });
  const [turn] = store.chat(CHAT).peek()?.turns ?? [];
  const page = await withList(store);
  await page.until(() => expect(page.text()).toContain("1,500 tokens in this conversation."));
  store.older(CHAT).value = { left: 7, turns: [{ ...(turn as Turn), id: "before" }] };
  await page.until(() => expect(page.text()).toContain("3,000 tokens in the latest 2 turns."));
  store.older(CHAT).value = { left: 0, turns: [] };
  await page.until(() => expect(page.text()).toContain("1,500 tokens in this conversation."));
});

describe("find", () => {
  test("goes through matching turns, including those not drawn", async () => {
    const store = readyStore();
    for (let at = 0; at < 40; at += 1)
      endTurn(store, `t${at}`, `question ${at}`, at % 10 === 3 ? "a **Needle** here" : "hay");
    const page = open(store, { kind: "chat" });
    press(page.find(".transcript"), "f", { ctrlKey: true });
    await page.until(() => page.find(".find input"));
    const field = page.find<HTMLInputElement>(".find input");
    field.value = "needle";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await page.until(() => expect(page.find(".find [role=status]").textContent).toEqual("4 of 4 turns"));
    press(field, "Enter");
    await page.until(() => expect(page.find(".find [role=status]").textContent).toEqual("1 of 4 turns"));
    await page.until(() => page.find("[data-turn=t3]"));
    press(field, "Escape");
    await page.until(() => expect(page.all(".find")).toEqual([]));
  });

  test("focuses the open search box and selects its text on Ctrl+F", async () => {
    const store = readyStore();
    endTurn(store, "t", "question", "answer");
    const page = open(store, { kind: "chat" });
    press(page.find(".transcript"), "f", { ctrlKey: true });
    await page.until(() => page.find(".find input"));
    const field = page.find<HTMLInputElement>(".find input");
    field.value = "answer";
    for (const from of [".transcript", "textarea", ".find input"]) {
      page.find(from).focus();
      field.setSelectionRange(0, 0);
      expect(press(page.find(from), "f", { ctrlKey: true })).toEqual(true);
      expect([page.root.activeElement, field.selectionEnd]).toEqual([field, "answer".length]);
    }
  });

  test("shows a message when nothing matches", async () => {
    const store = readyStore();
    endTurn(store, "t", "q", "a");
    const page = open(store, { kind: "chat" });
    await choose(page, "Find");
    await page.until(() => page.find(".find input"));
    const field = page.find<HTMLInputElement>(".find input");
    field.value = "zzz";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await page.until(() => expect(page.text()).toContain("Nothing found"));
  });
});

describe("export", () => {
  let copied: string[];
  beforeEach(() => {
    copied = [];
    Object.assign(navigator, { clipboard: { writeText: (text: string) => Promise.resolve(copied.push(text)) } });
  });

  test("copies a turn and a conversation as Markdown", async () => {
    const store = readyStore();
    endTurn(store, "t", "What is it?", "**It** is ```` ` ````.");
    store.root.value = { agents: [AGENT], sessions: [summary(SESSION, "Naming")] };
    const page = open(store, { kind: "chat" });
    page.button("Turn").click();
    await page.until(() => page.button("Copy turn as Markdown"));
    page.button("Copy turn as Markdown").click();
    await page.until(() => expect(copied).toEqual(["> What is it?\n\n**It** is ```` ` ````."]));
    await choose(page, "Copy as Markdown");
    await page.until(() => expect(copied[1]).toEqual("# Naming\n\n> What is it?\n\n**It** is ```` ` ````.\n"));
  });
});

test("includes diffs, decisions and exit codes in a turn's Markdown", () => {
  const store = readyStore();
  startTurn(store, "t", "Go");
  const tool = (toolCallId: string, displayName: string, details: object) => {
    const ids = { turnId: "t", toolCallId };
    store.apply(CHAT, { type: "chat/toolCallStart", ...ids, toolName: "x", displayName, details } as Action);
    const options = [
      { id: "yes", label: "Allow once", kind: "approve" },
      { id: "no", label: "Reject", kind: "deny" },
    ];
    store.apply(CHAT, { type: "chat/toolCallReady", ...ids, invocationMessage: "", options } as Action);
    return (action: object) => store.apply(CHAT, { ...ids, ...action } as Action);
  };
  const write = tool("a", "Write fit.py", {
    content: [{ type: "diff", path: "fit.py", oldText: "a\nb\n", newText: "a\nB\n" }],
  });
  write({ type: "chat/toolCallConfirmed", approved: true, confirmed: "user-action", selectedOptionId: "yes" });
  write({ type: "chat/toolCallComplete", result: { success: true, pastTenseMessage: "" } });
  const run = tool("b", "make", { content: [{ type: "terminal", terminalId: "m" }] });
  const terminal = { id: "m", command: "make", output: "no\n", truncated: false, exited: true, exitCode: 2 };
  store.apply(CHAT, { type: "x-agentnb/terminalOpened", terminal });
  run({ type: "chat/toolCallConfirmed", approved: true, confirmed: "user-action", selectedOptionId: "yes" });
  const failure = { success: false, pastTenseMessage: "", error: { message: "make failed" } };
  run({ type: "chat/toolCallComplete", result: failure });
  tool(
    "c",
    "rm",
    {},
  )({
    type: "chat/toolCallConfirmed",
    approved: false,
    reason: "denied",
    reasonMessage: "denied: a rule says so",
    selectedOptionId: "no",
  });
  const state = store.chat(CHAT).peek() as ChatState;
  const text = turnMarkdown(state.activeTurn as ActiveTurn, state);
  expect(text).toContain("<summary>Write fit.py (done, allowed: Allow once)</summary>");
  expect(text).toContain("```diff\n--- fit.py\n+++ fit.py\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n```");
  expect(text).toContain("```console\n$ make\nno\n[exit code 2]\n```");
  expect(text).toContain("(failed, allowed: Allow once)");
  expect(text).toContain("> **Failed:** make failed");
  expect(text).toContain("<summary>rm (denied: Reject)</summary>\n\n> a rule says so");
});

describe("an agent's form", () => {
  const questions = [
    { kind: "text", id: "name", message: "Name", required: true, min: 2 },
    { kind: "integer", id: "n", message: "How many?", min: 1, max: 9 },
    { kind: "boolean", id: "yes", message: "Sure?" },
    {
      kind: "single-select",
      id: "one",
      message: "Which?",
      options: [
        { id: "a", label: "A" },
        { id: "b", label: "B" },
      ],
    },
    {
      kind: "multi-select",
      id: "many",
      message: "Which ones?",
      min: 1,
      options: [
        { id: "x", label: "X" },
        { id: "y", label: "Y" },
      ],
    },
  ] as const;
  const openForm = async (request: Partial<ChatInputRequest>) => {
    const store = readyStore();
    startTurn(store, "t", "x");
    store.apply(CHAT, {
      type: "chat/inputRequested",
      request: { id: "r", message: "Tell me", ...request } as ChatInputRequest,
    });
    const page = open(store, { kind: "chat" });
    await page.until(() => page.find(".input-request"));
    return { store, page };
  };
  const fill = (page: Page, label: string, value: string) => {
    const labelElement = page
      .all(".question label")
      .find((one) => one.textContent?.startsWith(label)) as HTMLLabelElement;
    const field = page.find<HTMLInputElement>(`[id="${labelElement.getAttribute("for")}"]`);
    field.value = value;
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  };
  const tick = (page: Page, label: string) =>
    page
      .all(".check")
      .find((one) => one.textContent === label)
      ?.querySelector("input")
      ?.click();

  test("shows validation errors and sends each answer with its type", async () => {
    const { store, page } = await openForm({ questions });
    page.button("Send").click();
    await page.until(() =>
      expect(page.all(".question .error-text").map((one) => one.textContent)).toEqual([
        "This field is required.",
        "",
        "",
        "",
        "Choose at least 1.",
      ]),
    );
    expect(store.dispatched).toEqual([]);
    expect(page.root.activeElement, "the first that is wrong").toBe(page.find(".question input"));
    fill(page, "Name", "Ada");
    await page.until(() => expect(page.text()).not.toContain("This field is required."));
    fill(page, "How many?", "4.5");
    await page.until(() => expect(page.text()).toContain("whole number"));
    fill(page, "How many?", "12");
    await page.until(() => expect(page.text()).toContain("Enter at most 9."));
    page.button("Send").click();
    await page.until(() => expect(page.root.activeElement).toBe(page.all(".question input")[1]));
    fill(page, "How many?", "7");
    for (const label of ["Sure?", "B", "X", "Y"]) {
      tick(page, label);
      await page.until(() => expect(page.all("input:checked").length).toBeGreaterThan(0));
    }
    await page.until(() =>
      expect(
        page
          .all(".question .error-text")
          .map((one) => one.textContent)
          .join(""),
      ).toEqual(""),
    );
    page.button("Send").click();
    expect(sent(store)).toEqual([
      {
        type: "chat/inputCompleted",
        requestId: "r",
        response: "accept",
        answers: {
          name: { state: "submitted", value: { kind: "text", value: "Ada" } },
          n: { state: "submitted", value: { kind: "number", value: 7 } },
          yes: { state: "submitted", value: { kind: "boolean", value: true } },
          one: { state: "submitted", value: { kind: "selected", value: "b" } },
          many: { state: "submitted", value: { kind: "selected-many", value: ["x", "y"] } },
        },
      },
    ]);
    await page.until(() => expect(page.all(".input-request")).toEqual([]));
  });

  test("declines the request when Skip is clicked", async () => {
    const { store, page } = await openForm({ questions });
    page.button("Skip").click();
    expect(sent(store)).toEqual([{ type: "chat/inputCompleted", requestId: "r", response: "decline" }]);
  });

  test("preselects recommended options, the first one in a single choice", async () => {
    const options = ["a", "b", "c"].map((id) => ({ id, label: id.toUpperCase(), recommended: id !== "a" }));
    const { store, page } = await openForm({
      questions: [
        { kind: "single-select", id: "one", message: "Which?", required: true, options },
        { kind: "multi-select", id: "many", message: "Which ones?", options },
      ],
    });
    page.button("Send").click();
    expect(sent(store)[0]).toMatchObject({
      answers: {
        one: { value: { kind: "selected", value: "b" } },
        many: { value: { kind: "selected-many", value: ["b", "c"] } },
      },
    });
  });

  test("has the buttons I've signed in and Skip when it has no questions", async () => {
    const { store, page } = await openForm({ message: "Eliza waits for your login." });
    expect(page.all(".input-request button").map((one) => one.textContent)).toEqual(["I've signed in", "Skip"]);
    page.button("I've signed in").click();
    expect(sent(store)).toMatchObject([{ type: "chat/inputCompleted", response: "accept" }]);
  });

  test("shows the full URL and its host, and links only web addresses", async () => {
    const { page } = await openForm({ url: "https://bank.example@evil.example/login" });
    expect(page.find(".address strong").textContent).toEqual("evil.example");
    expect(page.find(".address code").textContent).toEqual("https://bank.example@evil.example/login");
    expect(page.find<HTMLAnchorElement>(".address a").rel).toContain("noopener");
    const bad = (await openForm({ url: "javascript:alert(1)" })).page;
    expect(bad.all(".address a")).toEqual([]);
    expect(bad.text()).toContain("isn't a web address");
  });

  test("does not let key events leave the chat", async () => {
    const { page } = await openForm({ questions });
    const heard: string[] = [];
    page.host.parentElement?.addEventListener("keydown", (event) => heard.push(event.key));
    press(page.find(".question input"), "a");
    expect(heard).toEqual([]);
  });
});

describe("an agent failure", () => {
  const trouble = (more: Partial<SessionState>) => {
    const store = readyStore();
    store.session(SESSION).value = { ...(store.session(SESSION).peek() as SessionState), ...more };
    return { store, page: open(store, { kind: "chat" }) };
  };

  test.each([
    [{ agentProcess: { state: "failed", message: "exit code 1" } }, "Restart agent"],
    [{ agentProcess: { state: "stopped", message: "" } }, "Restart agent"],
    [{ lifecycle: "failed", creationError: { errorType: "X", message: "no" } }, "Try again"],
  ] as const)("has a button that restarts the agent and shows its error", async (more, name) => {
    const { store, page } = trouble(more as Partial<SessionState>);
    store.answer = () => Promise.reject(new Error("it does not want to"));
    page.button(name).click();
    expect(store.requested).toEqual([{ method: "restartAgent", params: { channel: SESSION } }]);
    await page.until(() => expect(page.text()).toContain("it does not want to"));
  });
});

test("scrolls to the end when a message is sent, not when it is queued", async () => {
  const store = readyStore();
  endTurn(store, "t1", "first", "answer");
  sessionStorage.setItem('agentnb view host {"kind":"chat"} 0', `[["scroll ${CHAT}",{"turnId":"t1","offset":0}]]`);
  const page = open(store, { kind: "chat" });
  const away = () => page.all("[aria-label='Go to the latest message']").length;
  expect(away()).toEqual(1);
  startTurn(store, "t2", "of another window");
  await page.until(() => page.button("Stop"));
  type(box(page), "later");
  press(box(page), "Enter");
  expect(away()).toEqual(1);
  store.apply(CHAT, { type: "chat/turnComplete", turnId: "t2" });
  store.apply(CHAT, { type: "chat/pendingMessageRemoved", kind: "queued", id: String(sent(store)[0]?.id) });
  await page.until(() => page.button("Send message"));
  type(box(page), "now");
  press(box(page), "Enter");
  await page.until(() => expect(away()).toEqual(0));
});

describe("a code block", () => {
  test("is inserted below the active cell, with a cell magic if not Python", () => {
    const store = readyStore();
    const inserted: string[] = [];
    store.notebook = { insertBelow: (source) => inserted.push(source), replaceActive: () => {}, run: () => {} };
    endTurn(store, "t", "q", "```python\nx = 1\n```\n\n```bash\nls\n```\n\n```rust\nfn f() {}\n```\n");
    const page = open(store, { kind: "chat" });
    const buttons = page.all("[aria-label='Insert below the active cell']");
    for (const button of buttons) button.click();
    expect(inserted).toEqual(["x = 1", "%%bash\nls"]);
  });

  test("runs in a new cell or replaces the active cell, and announces it", async () => {
    const store = readyStore();
    const done: string[] = [];
    const keep = (what: string) => (source: string) => done.push(`${what} ${source}`);
    store.notebook = { insertBelow: keep("insert"), replaceActive: keep("replace"), run: keep("run") };
    endTurn(store, "t", "q", "```python\nx = 1\n```\n");
    const page = open(store, { kind: "chat" });
    page.button("Run in a new cell below").click();
    page.button("Insert below the active cell").click();
    page.button("Replace the active cell").click();
    expect(done).toEqual(["run x = 1", "insert x = 1", "replace x = 1"]);
    await page.until(() =>
      expect(page.find(".sr-only[role=status]").textContent).toEqual(
        "Running in a new cell. Inserted in a new cell. Replaced the active cell.",
      ),
    );
  });

  test("has no Replace the active cell button below a cell", () => {
    const store = readyStore();
    store.notebook = { insertBelow: () => {}, replaceActive: () => {}, run: () => {} };
    endTurn(store, "t", "q", "```python\nx = 1\n```\n");
    const cell = document.body.appendChild(document.createElement("div"));
    onTestFinished(() => cell.remove());
    cell.className = "jp-Cell";
    const page = open(store, { kind: "chat" }, cell);
    expect(page.button("Run in a new cell below")).toBeTruthy();
    expect(page.all("[aria-label='Replace the active cell']")).toEqual([]);
  });

  test("has only Copy code without a notebook or while it streams", () => {
    const store = readyStore();
    endTurn(store, "t", "q", "```python\nx = 1\n```\n");
    const names = (page: Page) => page.all(".code-bar button").map((one) => one.getAttribute("aria-label"));
    expect(names(open(store, { kind: "chat" }))).toEqual(["Copy code"]);
    store.notebook = { insertBelow: () => {}, replaceActive: () => {}, run: () => {} };
    const part = { kind: "markdown", id: "p", content: "```python\ny =" } as const;
    startTurn(store, "u", "q");
    store.apply(CHAT, { type: "chat/responsePart", turnId: "u", part });
    const page = open(store, { kind: "chat" });
    expect(names(page)).toEqual([
      "Run in a new cell below",
      "Insert below the active cell",
      "Replace the active cell",
      "Copy code",
      "Copy code",
    ]);
  });
});

describe("a written plan", () => {
  test("shows only the latest version of each id, as Markdown", () => {
    const store = readyStore();
    startTurn(store, "t", "x");
    const plan = (id: string, more: object) =>
      store.apply(CHAT, {
        type: "chat/responsePart",
        turnId: "t",
        part: { kind: "x-agentnb/raw", id, name: "plan_update", payload: { plan: { planId: "p", ...more } } },
      });
    plan("1", { type: "markdown", content: "old **plan**" });
    plan("2", { type: "markdown", content: "new **plan**" });
    const page = open(store, { kind: "chat" });
    expect(page.text()).toContain("new plan");
    expect(page.text()).not.toContain("old");
    expect(page.find(".plan strong").textContent).toEqual("plan");
  });
});
