import { describe, expect, test } from "vitest";
import { CHAT, readyStore, SESSION, startTurn } from "./memory-store";
import { open } from "./page";

const WHAT = { kind: "turn", channel: CHAT, turnId: "t1" } as const;

describe("a turn below its cell", () => {
  test("shows the agent's name before the turn starts", () => {
    expect(open(readyStore(), WHAT).text()).toContain("Eliza");
  });

  test("accepts the session's channel instead of the chat's", async () => {
    const store = readyStore();
    startTurn(store, "t1", "Why?");
    const page = open(store, { ...WHAT, channel: SESSION });
    expect(page.text()).toContain("working…");
  });

  test("shows its queue position while it waits; Remove removes it", async () => {
    const store = readyStore();
    startTurn(store, "t0", "First");
    for (const id of ["q1", "t1"]) {
      const message = { text: id, origin: { kind: "user" } };
      store.apply(CHAT, { type: "chat/pendingMessageSet", kind: "queued", id, message });
    }
    const page = open(store, WHAT);
    expect(page.text()).toContain("queued: 1 before it");
    page.button("Remove").click();
    expect(store.dispatched[0]?.action).toEqual({ type: "chat/pendingMessageRemoved", kind: "queued", id: "t1" });
  });

  test("shows that it is on hold, and Continue resumes it", async () => {
    const store = readyStore();
    const message = { text: "Hi", origin: { kind: "user" } };
    startTurn(store, "t0", "before");
    store.apply(CHAT, { type: "chat/pendingMessageSet", kind: "queued", id: "t1", message });
    const page = open(store, WHAT);
    store.apply(CHAT, { type: "chat/turnCancelled", turnId: "t0", holdQueue: true });
    await page.until(() => expect(page.find(".status-line").textContent).toContain("on hold"));
    page.button("Continue").click();
    expect(store.dispatched[0]?.action).toEqual({
      type: "chat/queuedMessagesReordered",
      order: ["t1"],
      held: false,
    });
  });

  test("streams the answer without the prompt, and Stop cancels the turn", async () => {
    const store = readyStore();
    const page = open(store, WHAT);
    startTurn(store, "t1", "Why does it not converge?");
    store.apply(CHAT, {
      type: "chat/responsePart",
      turnId: "t1",
      part: { kind: "markdown", id: "p1", content: "Because **of" },
    });
    await page.until(() => expect(page.find(".answer").textContent).toEqual("Because of"));
    expect(page.text()).not.toContain("Why does it not converge?");
    page.button("Stop").click();
    expect(store.dispatched).toEqual([{ channel: CHAT, action: { type: "chat/turnCancelled", turnId: "t1" } }]);
    await page.until(() => expect(page.find(".ended").textContent).toContain("Stopped"));
  });

  test("shows that the agent is silent, until it sends output again", async () => {
    const store = readyStore();
    startTurn(store, "t1", "Hi");
    const [cell, chat] = [open(store, WHAT), open(store, { kind: "chat" })];
    store.apply(SESSION, { type: "session/activityChanged", activity: "no output for 40 s" });
    await cell.until(() => expect(cell.find(".status-line").textContent).toContain("no output for 40 s"));
    await chat.until(() => expect(chat.find(".working").textContent).toContain("no output for 40 s"));
    for (const page of [cell, chat]) page.button("Stop");
    store.apply(SESSION, { type: "session/activityChanged" });
    await cell.until(() => expect(cell.text()).not.toContain("no word"));
    await chat.until(() => expect(chat.text()).not.toContain("no word"));
  });

  test("draws a finished turn from state alone, as after a reload", () => {
    const store = readyStore();
    startTurn(store, "t1", "Hi");
    store.apply(CHAT, {
      type: "chat/responsePart",
      turnId: "t1",
      part: { kind: "markdown", id: "p1", content: "Hello *you*" },
    });
    store.apply(CHAT, { type: "chat/usage", turnId: "t1", usage: { inputTokens: 1200, outputTokens: 34 } });
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1" });
    startTurn(store, "t2", "Next");
    const page = open(store, WHAT);
    expect(page.find(".answer em").textContent).toEqual("you");
    expect(page.text()).toContain("1,200 in · 34 out tokens");
    expect(page.all("button").some((button) => button.textContent === "Stop")).toEqual(false);
  });

  test("shows the error in one sentence, and the rest on Details", async () => {
    const store = readyStore();
    startTurn(store, "t1", "Hi");
    const error = { errorType: "AgentDied", message: "Eliza ended (exit code 3).\nType %agents restart" };
    store.apply(CHAT, { type: "chat/error", turnId: "t1", part: { kind: "error", error } });
    const page = open(store, WHAT);
    expect(page.find(".error-card").textContent).toContain("The turn failedEliza ended (exit code 3).");
    expect(page.text()).not.toContain("Type %agents restart");
    page.button("Details").click();
    await page.until(() => expect(page.find(".error-card").textContent).toContain("Type %agents restart"));
  });

  test("shows that a turn ended without an answer", () => {
    const store = readyStore();
    startTurn(store, "t1", "Hi");
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1" });
    expect(open(store, WHAT).text()).toContain("without an answer");
  });

  test("shows that the answer was cut off at the token limit", () => {
    const store = readyStore();
    startTurn(store, "t1", "Hi");
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1", stopReason: "max_tokens" });
    expect(open(store, WHAT).text()).toContain("token limit");
  });

  test("shows the time since its start, also in a view opened later", async () => {
    const store = readyStore();
    const message = { text: "Hi", origin: { kind: "user" } } as const;
    const startedAt = Date.now() - 125_000;
    store.apply(CHAT, {
      type: "chat/turnStarted",
      turnId: "t1",
      message,
      startedAt: new Date(startedAt).toISOString(),
    });
    const page = open(store, WHAT);
    expect(page.find(".status-line .elapsed").textContent).toMatch(/^2 min \d+ s$/);
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1", duration: 3_725_000 });
    await page.until(() => expect(page.find(".turn-end .elapsed").textContent).toEqual("1 h 2 min"));
    expect(open(store, { kind: "chat" }).find(".turn-end .elapsed").textContent).toEqual("1 h 2 min");
  });

  test.each([
    ["an hour ahead of", 3_600_000],
    ["an hour behind", -3_600_000],
  ])("shows the right time when the kernel's clock is %s the page's", (_, ahead) => {
    const store = readyStore();
    store.ahead.value = ahead;
    const message = { text: "Hi", origin: { kind: "user" } } as const;
    const startedAt = new Date(Date.now() + ahead - 125_000).toISOString();
    store.apply(CHAT, { type: "chat/turnStarted", turnId: "t1", message, startedAt });
    expect(open(store, WHAT).find(".status-line .elapsed").textContent).toMatch(/^2 min \d+ s$/);
    expect(open(store, { kind: "chat" }).find(".working .dim").textContent).toMatch(/^2 min \d+ s$/);
  });

  test("shows no duration when it is unknown or below one second", () => {
    const store = readyStore();
    const message = { text: "Hi", origin: { kind: "user" } } as const;
    store.apply(CHAT, { type: "chat/turnStarted", turnId: "t1", message, startedAt: "1970-01-01T00:00:01.000Z" });
    const error = { errorType: "KernelEnded", message: "It ended." };
    store.apply(CHAT, { type: "chat/error", turnId: "t1", part: { kind: "error", error } });
    store.apply(CHAT, { type: "chat/turnStarted", turnId: "t2", message, startedAt: "1970-01-01T00:00:02.000Z" });
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t2", duration: 900 });
    expect(open(store, { kind: "chat" }).all(".elapsed")).toEqual([]);
  });
});
