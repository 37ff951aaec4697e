/** A restart of the kernel: the next kernel's chat reopens the conversations that were open. */
import { expect, test } from "vitest";
import { PendingPrompt } from "../../src/lab/pending-prompt";
import type { Leaving } from "../../src/view/after-restart";
import { addSession, type MemoryStore, readyStore, SESSION, startTurn, summary } from "./memory-store";
import { open, type Page, press, type } from "./page";

const TAB = "5a1f3f2e-6a3b-4a58-9f0e-0c1d2e3f4a5b";
const MINE = `eliza:/${TAB}`;
const KEPT = { agent: "eliza", title: "T", turns: 1, open: true, modifiedAt: 1 };

async function openAtLeaving(page: Page): Promise<string> {
  const detail: Leaving = {};
  await page.until(() => expect(page.text()).not.toBe("")); // it listens now
  page.host.dispatchEvent(new CustomEvent("agentnb-leaving", { detail }));
  return detail.open ?? "";
}

/** The chat of a new kernel, which is requested to reopen the conversations of `detail`. */
async function next(
  detail: string,
  answers: Record<string, unknown> = {},
): Promise<{ store: MemoryStore; page: Page }> {
  const store = readyStore();
  store.hostId.value = "another";
  const root = { agents: store.root.value?.agents ?? [], sessions: [] };
  store.root.value = undefined;
  store.answer = async (method) => {
    const answer = answers[method] ?? {};
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const page = open(store, { kind: "chat" });
  const pending = new PendingPrompt();
  await pending.send(page.host.parentElement as HTMLElement, "", Promise.resolve(detail), "agentnb-reopen");
  await page.until(() => expect(page.text()).toContain("Connecting"));
  store.root.value = root;
  await page.until(() => expect(pending.node.hidden).toBe(true)); // reopening has begun
  return { store, page };
}

const requested = (store: MemoryStore) =>
  store.requested.filter(({ method }) => /^(resume|create)/.test(method)).map(({ method, params }) => [method, params]);

/** A chat that shows the tab `MINE`, with kernel access, beside another one. */
async function before({ kernel = "look", hasBegun = true } = {}): Promise<string> {
  const store = readyStore();
  addSession(store, MINE);
  store.root.value = { agents: store.root.value?.agents ?? [], sessions: [summary(SESSION), summary(MINE)] };
  const session = store.session(MINE);
  const config = { schema: {}, values: { permissions: "ask", freedom: "edit", kernel } };
  session.value = { ...(session.peek() as NonNullable<ReturnType<typeof session.peek>>), config };
  if (hasBegun) startTurn(store, "t1", "Hello", `${MINE}/chat`);
  const page = open(store, { kind: "chat" });
  const answer = await openAtLeaving(page);
  page.unmount();
  return answer;
}

test("reopens the active conversation first, then the other open ones", async () => {
  const sessions = [
    { ...KEPT, uri: SESSION },
    { ...KEPT, uri: "eliza:/never-open" },
  ];
  const { store, page } = await next(await before(), { listSessions: { sessions } });
  const both = [MINE, SESSION].map((channel) => ["resumeSession", { channel }]);
  await page.until(() => expect(requested(store)).toEqual(both));
  store.root.value = { agents: store.root.value?.agents ?? [], sessions: [summary(MINE), summary(SESSION)] };
  await page.until(() => expect(page.find("[role=tab][aria-selected=true]").id).toContain(TAB));
  expect(page.root.querySelector(".banner")).toBeNull();
});

test.each(["off", "look", "run"])("recreates an empty conversation with its agent and access (%s)", async (kernel) => {
  const { store, page } = await next(await before({ kernel, hasBegun: false }));
  await page.until(() =>
    expect(requested(store)).toEqual([["createSession", { agent: "eliza", kernel, freedom: "edit", tabId: TAB }]]),
  );
});

test("starts a new conversation and explains when one can't be reopened", async () => {
  const { store, page } = await next(await before(), { resumeSession: new Error("The session log is off.") });
  await page.until(() => expect(page.text()).toContain("The session log is off."));
  expect(page.text()).toContain("couldn't be reopened");
  expect(requested(store)[1]).toEqual([
    "createSession",
    { agent: "eliza", kernel: "look", freedom: "edit", tabId: TAB },
  ]);
});

const box = (page: Page) => page.find<HTMLTextAreaElement>(".prompt textarea");

test("sends a message typed before the conversation has reopened", async () => {
  const detail = await before();
  sessionStorage.setItem(`agentnb draft ${MINE}/chat`, JSON.stringify({ text: "half", host: "another" }));
  const { store, page } = await next(detail);
  await page.until(() => expect(box(page).value).toBe("half"));
  const area = box(page);
  area.focus();
  type(area, "half a thought");
  press(area, "Enter");
  expect(store.dispatched).toEqual([]);
  addSession(store, MINE);
  store.root.value = { agents: store.root.value?.agents ?? [], sessions: [summary(SESSION), summary(MINE)] };
  const sent = { type: "chat/turnStarted", message: { text: "half a thought" } };
  await page.until(() => expect(store.dispatched.at(-1)).toMatchObject({ channel: `${MINE}/chat`, action: sent }));
  expect(box(page)).toBe(area);
  expect(requested(store).map(([method]) => method)).toEqual(["resumeSession"]);
});

test("moves the draft to the next conversation when reopening fails", async () => {
  const detail = await before();
  sessionStorage.setItem(`agentnb draft ${MINE}/chat`, JSON.stringify({ text: "not lost", host: "another" }));
  const failed = { resumeSession: new Error("The log is off."), createSession: new Error("No such agent.") };
  const { store, page } = await next(detail, failed);
  await page.until(() => expect(page.text()).toContain("No such agent."));
  await page.until(() => expect(box(page).value).toBe("not lost"));
  expect(store.dispatched).toEqual([]);
});

test("reopens nothing when the chat had no conversations", async () => {
  const store = readyStore();
  store.root.value = { agents: [], sessions: [] };
  expect(await openAtLeaving(open(store, { kind: "chat" }))).toBe("");
});

test("reopens a conversation after a second restart interrupts reopening", async () => {
  const detail = await before();
  const never = new Promise(() => undefined);
  const { page } = await next(detail, { resumeSession: never });
  expect(await openAtLeaving(page)).toBe(detail);
});

test("does not reopen a conversation that was closed after reopening", async () => {
  const { page } = await next(await before());
  await page.until(async () => expect(await openAtLeaving(page)).toBe(""));
});
