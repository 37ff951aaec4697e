/** The switch below the box that says what the agent may do with the kernel. */
import { expect, test } from "vitest";
import { addSession, type MemoryStore, readyStore, SESSION, startTurn, summary } from "./memory-store";
import { open, type Page } from "./page";

const NEW = "eliza:/new";

function configured(values: Record<string, string>): MemoryStore {
  const store = readyStore();
  const session = store.session(SESSION);
  session.value = {
    ...(session.peek() as NonNullable<ReturnType<typeof session.peek>>),
    config: { schema: {}, values },
  };
  store.answer = (method) => {
    if (method !== "createSession") return Promise.resolve({});
    addSession(store, NEW);
    store.apply("ahp-root://", { type: "x-agentnb/sessionSet", summary: summary(NEW, "New") });
    return Promise.resolve({ channel: NEW });
  };
  return store;
}

const box = (page: Page) => page.find<HTMLSelectElement>("select[aria-label=Kernel]");

function choose(page: Page, value: string): void {
  box(page).value = value;
  box(page).dispatchEvent(new Event("change", { bubbles: true }));
}

const created = (store: MemoryStore) =>
  store.requested.filter(({ method }) => method === "createSession").map(({ params }) => params);

test("a conversation with kernel tools changes what they may do", async () => {
  const store = configured({ permissions: "ask", kernel: "run" });
  const page = open(store, { kind: "chat" });
  expect([...box(page).options].map((one) => one.textContent)).toEqual(["Off", "Look", "Run with approval"]);
  choose(page, "look");
  expect(store.dispatched.at(-1)?.action).toEqual({ type: "session/configChanged", config: { kernel: "look" } });
  await page.until(() => expect(box(page).value).toBe("look"));
  expect(created(store)).toEqual([]);
});

test("the review of cells is chosen beside it where the agent may change cells", async () => {
  const store = configured({ permissions: "ask", kernel: "run", cellReview: "first" });
  const page = open(store, { kind: "chat" });
  const review = page.find<HTMLSelectElement>("select[aria-label='Cell edits']");
  expect([...review.options].map((one) => one.textContent)).toEqual(["Review first", "Apply, review after"]);
  review.value = "after";
  review.dispatchEvent(new Event("change", { bubbles: true }));
  expect(store.dispatched.at(-1)?.action).toEqual({ type: "session/configChanged", config: { cellReview: "after" } });
  choose(page, "look");
  await page.until(() => expect(page.all("select[aria-label='Cell edits']")).toHaveLength(0));
});

test("a conversation without them is given them, empty or begun", async () => {
  const store = configured({ permissions: "allow" });
  const page = open(store, { kind: "chat" });
  expect([box(page).value, box(page).options[2]?.textContent]).toEqual(["off", "Run"]);
  choose(page, "look");
  expect(store.dispatched.at(-1)?.action).toEqual({ type: "session/configChanged", config: { kernel: "look" } });
  await page.until(() => expect(box(page).value).toBe("look"));
  startTurn(store, "t1", "Hello");
  choose(page, "run");
  await page.until(() => expect(box(page).value).toBe("run"));
  expect([created(store), page.all("[role=tab]").length]).toEqual([[], 1]);
});
