/** Calls a user who is looking elsewhere: the page's title, the sidebar's mark and browser notifications. */
import { effect, signal } from "@preact/signals";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import callUser from "../../src/attention";
import type { NotebookActions } from "../../src/view/store";
import { eventually } from "../eventually";
import { CHAT, type MemoryStore, readyStore, SESSION, startTurn } from "./memory-store";
import { open } from "./page";

const [IDLE, ERROR, WORKING, WAITING, READ] = [1, 2, 8, 24, 32];
const SECRET = "sk-ant-api03-kx81hq2mz0pl44 <img src=x onerror=alert(1)>";

/** The browser's `Notification`, as far as it is used. */
class FakeNotification {
  static permission = "granted";
  static requestPermission = vi.fn(async () => FakeNotification.permission);
  static instances: FakeNotification[] = [];
  onclick = () => {};
  isOpen = true;
  constructor(
    readonly title: string,
    readonly options: NotificationOptions,
  ) {
    FakeNotification.instances.push(this);
  }
  close(): void {
    this.isOpen = false;
  }
}

let hasFocus = false;
beforeEach(() => {
  hasFocus = false;
  went = [];
  FakeNotification.requestPermission.mockClear();
  vi.spyOn(document, "hasFocus").mockImplementation(() => hasFocus);
  vi.stubGlobal("Notification", FakeNotification);
  Object.assign(FakeNotification, { permission: "granted", instances: [] });
  localStorage.clear();
  document.title = "fit.ipynb";
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function focus(is: boolean): void {
  hasFocus = is;
  window.dispatchEvent(new Event(is ? "focus" : "blur"));
}

function world(notifications = true) {
  const store = readyStore();
  const root = store.root.peek() as NonNullable<ReturnType<typeof store.root.peek>>;
  store.root.value = { ...root, config: { schema: {}, values: { look: { notifications } } } };
  const marks: string[] = [];
  store.notebook = {
    attention: (...mark) => void marks.push(mark.join(", ")),
  } as Partial<NotebookActions> as NotebookActions;
  const onScreen = signal<readonly string[]>([]);
  return { store, marks, onScreen, begin: () => follow(store, onScreen) };
}

let went: string[] = [];
function follow(store: MemoryStore, onScreen = signal<readonly string[]>([])): () => void {
  const end = callUser({ store, effect, signal, onScreen, show: (resource) => void went.push(resource) });
  onTestFinished(end);
  return end;
}

function status(store: MemoryStore, value: number): void {
  const root = store.root.peek() as NonNullable<ReturnType<typeof store.root.peek>>;
  const sessions = root.sessions?.map((one) => ({ ...one, title: SECRET, status: value }));
  store.root.value = { ...root, sessions };
}

function ask(store: MemoryStore, id: string): void {
  const call = { turnId: "t1", toolCallId: id };
  store.apply(CHAT, { type: "chat/toolCallStart", ...call, toolName: "run", displayName: SECRET });
  store.apply(CHAT, { type: "chat/toolCallReady", ...call, invocationMessage: SECRET });
  status(store, WAITING);
}

const notified = (count: number) => eventually(() => expect(FakeNotification.instances).toHaveLength(count));

test("shows title, mark and one notification until a request is answered", async () => {
  const { store, marks, begin } = world();
  startTurn(store, "t1", SECRET);
  status(store, WORKING);
  begin();
  ask(store, "c1");
  expect([document.title, marks]).toEqual(["(1) fit.ipynb", ["1, 1"]]);
  await notified(1);
  status(store, WAITING);
  store.apply(CHAT, { type: "chat/delta", turnId: "t1", partId: "p", content: "more" } as never);
  ask(store, "c2");
  await notified(2);
  expect(document.title).toBe("(2) fit.ipynb");
  document.title = "other.ipynb";
  await eventually(() => expect(document.title).toBe("(2) other.ipynb"));
  for (const id of ["c1", "c2"])
    store.apply(CHAT, { type: "chat/toolCallConfirmed", turnId: "t1", toolCallId: id, approved: true });
  status(store, WORKING);
  expect([document.title, marks.at(-1)]).toEqual(["other.ipynb", "0, 0"]);
  expect(FakeNotification.instances.map(({ isOpen }) => isOpen)).toEqual([false, false]);
  const json = JSON.stringify(FakeNotification.instances);
  expect([json.includes("kx81"), json.includes("<img"), json.includes("Eliza needs your answer")]).toEqual([
    false,
    false,
    true,
  ]);
});

test.each([
  [IDLE, "has finished"],
  [ERROR, "has failed"],
])("an unseen end of a turn alerts until the conversation is viewed (%i)", async (state, words) => {
  const { store, marks, onScreen, begin } = world();
  status(store, WORKING | READ);
  begin();
  status(store, state);
  expect([document.title, marks]).toEqual(["(1) fit.ipynb", ["1, 0"]]);
  await notified(1);
  expect(FakeNotification.instances[0]?.title).toBe(`Eliza ${words}`);
  focus(true);
  expect([document.title, marks.at(-1)]).toEqual(["fit.ipynb", "1, 0"]); // back in the page, with the sidebar closed
  expect(FakeNotification.instances[0]?.isOpen).toBe(true);
  onScreen.value = [SESSION];
  expect(marks).toEqual(["1, 0", "0, 0"]);
  expect(FakeNotification.instances[0]?.isOpen).toBe(false);
});

test("notifies of every request and turn end from the session status alone", async () => {
  const { store, begin } = world();
  status(store, WORKING);
  begin();
  follow(store); // another window
  for (const [count, state] of [WAITING, WORKING, WAITING, IDLE, WORKING, IDLE].entries()) {
    status(store, state);
    if (state !== WORKING) await notified(FakeNotification.instances.filter(({ isOpen }) => !isOpen).length + 1);
    expect(FakeNotification.instances.filter(({ isOpen }) => isOpen).length, `${count}`).toBe(
      state === WORKING ? 0 : 1,
    );
  }
  const [asks, ends] = ["Eliza needs your answer", "Eliza has finished"];
  expect(FakeNotification.instances.map(({ title }) => title)).toEqual([asks, asks, ends, ends]);
});

test("notifies of a request in the same millisecond as the previous one", async () => {
  const { store, begin } = world();
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  status(store, WORKING);
  begin();
  follow(store); // another window
  status(store, WAITING);
  await vi.advanceTimersToNextTimerAsync();
  expect(FakeNotification.instances).toHaveLength(1);
  status(store, WORKING);
  status(store, WAITING);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(FakeNotification.instances).toHaveLength(2);
});

test("a click on a notification focuses the page and opens the conversation", async () => {
  const toWindow = vi.spyOn(window, "focus").mockImplementation(() => {});
  const { store, begin } = world();
  startTurn(store, "t1", "Go");
  begin();
  ask(store, "c1");
  await notified(1);
  expect([went, toWindow.mock.calls.length]).toEqual([[], 0]);
  FakeNotification.instances[0]?.onclick();
  expect([went, toWindow.mock.calls.length, FakeNotification.instances[0]?.isOpen]).toEqual([[SESSION], 1, false]);
});

test("notifies only when no conversation of the kernel is visible", async () => {
  const { store, onScreen, begin } = world();
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  focus(true);
  onScreen.value = ["eliza:/another"];
  startTurn(store, "t1", "Go");
  begin();
  ask(store, "c1");
  await vi.advanceTimersByTimeAsync(10_000);
  expect([document.title, FakeNotification.instances.length]).toEqual(["(1) fit.ipynb", 0]);
  onScreen.value = [];
  await vi.advanceTimersByTimeAsync(10_000);
  expect(FakeNotification.instances.length).toBe(1);
});

test("does not notify of a request that was seen before focus was lost", async () => {
  const { store, onScreen, begin } = world();
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  focus(true);
  onScreen.value = [SESSION];
  startTurn(store, "t1", "Go");
  begin();
  ask(store, "c1");
  await vi.advanceTimersByTimeAsync(2_000);
  focus(false);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([document.title, FakeNotification.instances.length]).toEqual(["(1) fit.ipynb", 0]);
  ask(store, "c2");
  await vi.advanceTimersByTimeAsync(10_000);
  expect([document.title, FakeNotification.instances.length]).toEqual(["(2) fit.ipynb", 1]);
  focus(true);
  ask(store, "c3");
  await vi.advanceTimersByTimeAsync(100);
  focus(false); // in sight only for a moment
  await vi.advanceTimersByTimeAsync(10_000);
  expect([document.title, FakeNotification.instances.length]).toEqual(["(3) fit.ipynb", 2]);
});

test("does not alert a user who is viewing the conversation", async () => {
  const { store, marks, onScreen, begin } = world();
  vi.useFakeTimers({ toFake: ["performance"] }); // an end is reported only some time after it was last in sight
  onTestFinished(() => void vi.useRealTimers());
  focus(true);
  onScreen.value = [SESSION];
  begin();
  startTurn(store, "t1", "Go");
  status(store, WORKING);
  ask(store, "c1");
  store.apply(CHAT, { type: "chat/toolCallConfirmed", turnId: "t1", toolCallId: "c1", approved: true });
  status(store, WORKING);
  onScreen.value = []; // a cell's final answer replaces the live one
  status(store, IDLE);
  expect([document.title, marks, FakeNotification.instances.length]).toEqual(["fit.ipynb", [], 0]);
});

test("two windows notify once and add up their counts in the page title", async () => {
  const { store, begin } = world();
  startTurn(store, "t1", "Go");
  const end = begin();
  follow(store);
  ask(store, "c1");
  expect(document.title).toBe("(2) fit.ipynb");
  await notified(1);
  end();
  expect(document.title).toBe("(1) fit.ipynb");
  ask(store, "c2");
  await notified(2);
});

test.each([
  [false, "granted"],
  [true, "default"],
  [true, "denied"],
])("does not notify with the setting %s and the browser permission %s", async (isOn, permission) => {
  FakeNotification.permission = permission;
  const { store, begin } = world(isOn);
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  startTurn(store, "t1", "Go");
  begin();
  ask(store, "c1");
  await vi.advanceTimersByTimeAsync(10_000);
  expect([document.title, FakeNotification.instances.length]).toEqual(["(1) fit.ipynb", 0]);
});

test("shows a message and stays off when the browser blocks notifications", async () => {
  const { store } = world(false);
  FakeNotification.permission = "default";
  FakeNotification.requestPermission.mockImplementation(async () => "denied");
  const page = open(store, { kind: "chat" });
  page.button("Conversation").click();
  await page.until(() => expect(page.all("[role=menuitem]").length).toBeGreaterThan(0));
  page
    .all("[role=menuitem]")
    .find((item) => item.textContent?.startsWith("Notifications"))
    ?.click();
  await page.until(() => expect(page.text()).toContain("The browser blocks notifications from this page"));
  expect(store.requested.filter(({ method }) => method === "changeSetting")).toEqual([]);
});

test("asks the browser for permission only when notifications are enabled", async () => {
  const { store } = world(false);
  FakeNotification.permission = "default";
  FakeNotification.requestPermission.mockImplementation(async () => {
    FakeNotification.permission = "granted";
    return "granted";
  });
  // The kernel sends these settings only if they are not the default.
  store.root.value = { ...(store.root.peek() as NonNullable<ReturnType<typeof store.root.peek>>), config: undefined };
  const page = open(store, { kind: "chat" });
  const entry = async () => {
    page.button("Conversation").click();
    await page.until(() => expect(page.all("[role=menuitem]").length).toBeGreaterThan(0));
    return page.all("[role=menuitem]").find((item) => item.textContent?.startsWith("Notifications"));
  };
  const off = await entry();
  expect([off?.textContent, FakeNotification.requestPermission.mock.calls.length]).toEqual(["NotificationsOff", 0]);
  off?.click();
  const set = (value: boolean) => ({ method: "changeSetting", params: { name: "notifications", value } });
  await eventually(() => expect(store.requested.at(-1)).toEqual(set(true)));
  const root = store.root.peek() as NonNullable<ReturnType<typeof store.root.peek>>;
  store.root.value = { ...root, config: { schema: {}, values: { look: { notifications: true } } } };
  const on = await entry();
  expect(on?.textContent).toBe("NotificationsOn");
  on?.click();
  await eventually(() => expect(store.requested.at(-1)).toEqual(set(false)));
});
