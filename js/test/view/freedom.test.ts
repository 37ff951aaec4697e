/** The control of a conversation's freedom, and the freedom of the next conversation. */
import { expect, test } from "vitest";
import type { RootState } from "../../src/state/types.gen";
import { AGENT, MemoryStore, readyStore, SESSION } from "./memory-store";
import { open, type Page } from "./page";

type Config = Record<string, unknown>;

function configured(values: Config, schema: Config = {}, auto = ""): MemoryStore {
  const store = readyStore();
  const session = store.session(SESSION);
  const state = session.peek() as NonNullable<ReturnType<typeof session.peek>>;
  session.value = { ...state, config: { schema, values } };
  store.answer = (method) => Promise.resolve(method === "describeFreedom" ? { auto } : { channel: "eliza:/new" });
  return store;
}

const button = (page: Page) => page.find<HTMLButtonElement>(".freedom-button");

async function items(page: Page): Promise<HTMLElement[]> {
  button(page).click();
  await page.until(() => expect(page.all("[role=menuitem]")).not.toHaveLength(0));
  return page.all("[role=menuitem]") as HTMLElement[];
}

test.each([
  [{ permissions: "ask", freedom: "ask" }, "Ask"],
  [{ permissions: "edit", freedom: "edit" }, "Edit"],
  [{ permissions: "auto", freedom: "auto" }, "Auto"],
  [{ permissions: "deny", freedom: "custom" }, "Custom"],
  [{ permissions: "allow", freedom: "custom" }, "Full trust"],
  [{ permissions: "ask", freedom: "future" }, "Custom"],
])("shows the settings %o as one word: %s", (values, word) => {
  const page = open(configured(values), { kind: "chat" });
  expect([button(page).textContent, button(page).ariaLabel]).toEqual([word, `Freedom: ${word}`]);
});

test("changes only the freedom when Ask, Edit or Auto is chosen", async () => {
  const store = configured({ permissions: "ask", freedom: "ask", kernel: "run" });
  const page = open(store, { kind: "chat" });
  const all = await items(page);
  expect(all.map((one) => one.querySelector(".menu-name")?.textContent)).toEqual(["Ask", "Edit", "Auto", "Custom…"]);
  expect(all.map((one) => one.ariaCurrent)).toEqual(["true", "false", "false", null]);
  all[1]?.click();
  expect(store.dispatched.map(({ action }) => action)).toEqual([
    { type: "session/configChanged", config: { freedom: "edit" } },
  ]);
});

test("shows the kernel's description of Auto", async () => {
  const store = configured(
    { permissions: "ask", freedom: "ask" },
    {},
    "Running still asks: nothing here can confine it.",
  );
  const page = open(store, { kind: "chat" });
  const all = await items(page);
  await page.until(() => expect(all[2]?.textContent).toContain("Running still asks"));
  expect(store.requested.filter(({ method }) => method === "describeFreedom").map(({ params }) => params)).toEqual([
    { channel: SESSION },
  ]);
});

test("dims a freedom that a policy forbids and shows why", async () => {
  const schema = { properties: { freedom: { enum: ["ask", "edit"] } } };
  const page = open(configured({ permissions: "ask", freedom: "ask" }, schema), { kind: "chat" });
  const [, edit, auto] = await items(page);
  expect(edit?.textContent).not.toContain("A policy");
  expect([auto?.textContent, auto?.querySelector(".dim.menu-name")]).toEqual([
    "AutoA policy file here allows agents less.",
    expect.anything(),
  ]);
});

test.each([
  [undefined, "Ask"],
  ["edit", "Edit"],
])("uses the configured freedom (%s) on the start page until a choice", async (set, word) => {
  const store = new MemoryStore();
  store.answer = (method) => Promise.resolve(method === "describeFreedom" ? { auto: "" } : { channel: "eliza:/new" });
  const config = { schema: {}, values: { look: set ? { freedom: set } : {} } };
  store.root.value = { agents: [AGENT], sessions: [], config } as unknown as RootState;
  const page = open(store, { kind: "chat" });
  expect(button(page).textContent).toBe(word);
  const all = await items(page);
  expect(all).toHaveLength(3);
  all[2]?.click();
  await page.until(() => expect(button(page).textContent).toBe("Auto"));
  page.button("Tour").click();
  await page.until(() => expect(store.requested.some(({ method }) => method === "createSession")).toBe(true));
  expect(store.requested.filter(({ method }) => method === "createSession").map(({ params }) => params)).toEqual([
    { agent: "eliza", freedom: "auto", tabId: expect.any(String), reuse: true },
  ]);
});

test.each([
  ["ask", [{ type: "session/configChanged", config: { freedom: "edit" } }]],
  ["edit", []],
])("sends an early choice only if the conversation loads another (%s)", async (freedom, sent) => {
  const store = configured({ permissions: freedom, freedom });
  const session = store.session(SESSION);
  const loaded = session.peek();
  session.value = undefined;
  const page = open(store, { kind: "chat" });
  (await items(page))[1]?.click();
  await page.until(() => expect(button(page).textContent).toBe("Edit"));
  session.value = loaded;
  await page.until(() => expect(session.peek()?.config?.values.freedom).toBe("edit"));
  await page.until(() => expect(button(page).textContent).toBe("Edit"));
  expect(store.dispatched.map(({ action }) => action)).toEqual(sent);
});
