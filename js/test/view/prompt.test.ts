import { describe, expect, test } from "vitest";
import type { SessionState } from "../../src/state/types.gen";
import { CHAT, readyStore, SESSION, startTurn } from "./memory-store";
import { open, press, type } from "./page";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function prompt() {
  const store = readyStore();
  const page = open(store, { kind: "chat" });
  return { store, page, box: page.find<HTMLTextAreaElement>("textarea") };
}

describe("the message box", () => {
  test("Enter starts a turn with a fresh UUID and empties the box", async () => {
    const { store, page, box } = prompt();
    type(box, "Hello there");
    await page.until(() => expect(page.button("Send message").disabled).toEqual(false));
    expect(press(box, "Enter")).toEqual(true);
    expect(store.dispatched.length).toEqual(1);
    const { channel, action } = store.dispatched[0] as (typeof store.dispatched)[0];
    expect(channel).toEqual(CHAT);
    expect(action).toMatchObject({
      type: "chat/turnStarted",
      message: { text: "Hello there", origin: { kind: "user" } },
    });
    expect((action as { turnId: string }).turnId).toMatch(UUID);
    await page.until(() => expect(box.value).toEqual(""));
    await page.until(() => expect(page.find(".user-message").textContent).toContain("Hello there"));
  });

  test("sends the text of an agentnb-send event, unless the kernel is gone", async () => {
    const { store, page, box } = prompt();
    type(box, "half a thought");
    await page.until(() => expect(page.button("Send message").disabled).toEqual(false));
    const event = new CustomEvent("agentnb-send", { detail: "Fix it", cancelable: true });
    expect(page.host.dispatchEvent(event)).toEqual(false);
    expect(store.dispatched.map(({ action }) => action)).toMatchObject([
      { type: "chat/turnStarted", message: { text: "Fix it", origin: { kind: "user" } } },
    ]);
    await page.until(() => expect(page.find(".user-message").textContent).toContain("Fix it"));
    expect(box.value).toEqual("half a thought");
    store.connection.value = "gone";
    await page.until(() => expect(box.readOnly).toEqual(true));
    expect(page.host.dispatchEvent(new CustomEvent("agentnb-send", { detail: "x", cancelable: true }))).toEqual(true);
    expect(store.dispatched.length).toEqual(1);
  });

  test("Shift+Enter adds a line and sends nothing", async () => {
    const { store, box } = prompt();
    type(box, "one");
    expect(press(box, "Enter", { shiftKey: true })).toEqual(false);
    expect(store.dispatched).toEqual([]);
  });

  test("Enter that ends an input method's composition sends nothing", () => {
    const { store, box } = prompt();
    type(box, "にほん");
    press(box, "Enter", { isComposing: true });
    press(box, "Enter", { keyCode: 229 });
    expect(store.dispatched).toEqual([]);
  });

  test("blank text is not sent", () => {
    const { store, page, box } = prompt();
    type(box, "  \n ");
    press(box, "Enter");
    expect(page.all("[aria-label='Send message']")).toEqual([]);
    expect(store.dispatched).toEqual([]);
  });

  test("queues and shows a message while a turn runs; Remove removes it", async () => {
    const { store, page, box } = prompt();
    startTurn(store, "t1", "first");
    await page.until(() => page.button("Stop"));
    type(box, "second");
    await page.until(() => expect(page.button("Queue message").disabled).toEqual(false));
    press(box, "Enter");
    const { action } = store.dispatched[0] as (typeof store.dispatched)[0];
    expect(action).toMatchObject({ type: "chat/pendingMessageSet", kind: "queued", message: { text: "second" } });
    const { id } = action as { id: string };
    expect(id).toMatch(UUID);
    await page.until(() => expect(page.find(".queue").textContent).toContain("second"));
    page.button("Remove: second").click();
    expect(store.dispatched[1]).toEqual({
      channel: CHAT,
      action: { type: "chat/pendingMessageRemoved", kind: "queued", id },
    });
    await page.until(() => expect(page.all(".queue li")).toEqual([]));
  });

  test("Stop cancels the running turn", async () => {
    const { store, page } = prompt();
    startTurn(store, "t1", "first");
    await page.until(() => page.button("Stop"));
    page.button("Stop").click();
    expect(store.dispatched).toEqual([{ channel: CHAT, action: { type: "chat/turnCancelled", turnId: "t1" } }]);
    await page.until(() => expect(page.text()).toContain("Stopped"));
  });

  test("is read-only when the kernel ended, and shows why", async () => {
    const { store, page, box } = prompt();
    store.connection.value = "gone";
    await page.until(() => expect(box.readOnly).toEqual(true));
    expect(page.text()).toContain("The kernel ended");
  });

  test("shows why the session failed to start, and keeps the draft", async () => {
    const { store, page, box } = prompt();
    type(box, "half a tho");
    store.apply(SESSION, {
      type: "session/creationFailed",
      error: { errorType: "CommandNotFound", message: "eliza was not found: type  pip install agentnb" },
    });
    await page.until(() => expect(page.text()).toContain("pip install agentnb"));
    expect([box.readOnly, box.value]).toEqual([false, "half a tho"]);
    type(box, "half a thought");
    press(box, "Enter");
    expect(store.dispatched.map(({ action }) => action.type)).toEqual(["chat/turnStarted"]);
  });
});

describe("the agent of an unused tab", () => {
  const requests = (store: ReturnType<typeof readyStore>) =>
    store.requested.filter(({ method }) => method === "openSession");

  function asleep(more: Partial<SessionState> = {}) {
    const store = readyStore();
    const session = store.session(SESSION);
    session.value = { ...(session.peek() as SessionState), lifecycle: "creating", ...more };
    const page = open(store, { kind: "chat" });
    return { store, page, box: page.find<HTMLTextAreaElement>("textarea") };
  }

  test("starts once when the user focuses the box or types, not before", async () => {
    const { store, page, box } = asleep();
    store.answer = () => Promise.reject(new Error("There is no method 'openSession'."));
    expect(requests(store)).toEqual([]);
    box.dispatchEvent(new FocusEvent("focus"));
    type(box, "H");
    expect(requests(store)).toEqual([{ method: "openSession", params: { channel: SESSION } }]);
    await Promise.resolve();
    expect(page.all(".error-card, .error-text")).toEqual([]);
  });

  test("starts when its conversation loads while the box has the focus", async () => {
    const store = readyStore();
    const session = store.session(SESSION);
    const asleep: SessionState = { ...(session.peek() as SessionState), lifecycle: "creating" };
    session.value = undefined;
    const page = open(store, { kind: "chat" });
    page.find<HTMLTextAreaElement>("textarea").focus();
    expect(requests(store)).toEqual([]);
    session.value = asleep;
    await page.until(() => expect(requests(store).length).toEqual(1));
  });

  test("starts when the user types without a new focus event", () => {
    const { store, box } = asleep();
    type(box, "H");
    expect(requests(store).length).toEqual(1);
  });

  test("shows a spinner while it starts, and the user can keep typing", async () => {
    const { store, page, box } = asleep();
    type(box, "Hello");
    store.apply(SESSION, { type: "x-agentnb/agentChanged", agentProcess: { state: "starting" } });
    await page.until(() => expect(page.all(".pill .spinner")).toHaveLength(1));
    expect([box.readOnly, box.value, page.button("Send message").disabled]).toEqual([false, "Hello", false]);
    const modes = { currentModeId: "a", availableModes: [{ id: "a", name: "Ask" }] };
    store.apply(SESSION, { type: "x-agentnb/modesChanged", modes });
    store.apply(SESSION, { type: "session/ready" });
    store.apply(SESSION, { type: "x-agentnb/agentChanged", agentProcess: { state: "running" } });
    await page.until(() => expect(page.all(".pill .spinner")).toEqual([]));
    expect(box.value).toEqual("Hello");
  });

  test.each([
    ["runs", { lifecycle: "ready" }],
    ["starts", { agentProcess: { state: "starting" } }],
    ["ended", { agentProcess: { state: "stopped" } }],
    ["failed", { lifecycle: "failed" }],
  ] as const)("is not started when it %s", (_, more) => {
    const { store, box } = asleep(more as Partial<SessionState>);
    type(box, "H");
    expect(requests(store)).toEqual([]);
  });
});
