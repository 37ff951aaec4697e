import { describe, expect, test } from "vitest";
import { CHAT, type MemoryStore, readyStore, SESSION, sessionState } from "./memory-store";
import { open } from "./page";

const kept = (uri: string, more: object = {}) => ({
  uri,
  agent: "eliza",
  title: `About ${uri}`,
  cwd: "/w",
  place: "a.ipynb",
  turns: 2,
  open: true,
  modifiedAt: 1_790_000_000_000,
  ...more,
});

function storeWith(answer: unknown): MemoryStore {
  const store = readyStore();
  store.root.value = { ...store.root.value, agents: store.root.value?.agents ?? [], sessions: [] };
  store.answer = (method) => Promise.resolve(method === "listSessions" ? answer : {});
  return store;
}

const paramsOf = (store: MemoryStore, method: string) =>
  store.requested.filter((one) => one.method === method).map(({ params }) => params);

describe("earlier conversations", () => {
  test("of this notebook are offered, and one is opened by a click", async () => {
    const store = storeWith({
      sessions: [kept("eliza:/a", { open: false }), kept("eliza:/b", { turns: 1 })],
      elsewhere: [],
    });
    const page = open(store, { kind: "chat" });
    await page.until(() => expect(page.all(".earlier-one")).toHaveLength(2));
    expect(paramsOf(store, "listSessions")).toEqual([{ here: true, limit: 100 }]);
    expect(page.all(".earlier-one")[1]?.textContent).toContain("1 turn ");
    (page.all(".earlier-one")[0] as HTMLElement).click();
    await page.until(() => expect(paramsOf(store, "resumeSession")).toEqual([{ channel: "eliza:/a" }]));
  });

  test("that were open can be brought back all at once; those that are open are not offered", async () => {
    const sessions = [kept("eliza:/a"), kept("eliza:/b"), kept("eliza:/c", { open: false }), kept("eliza:/d")];
    const store = storeWith({ sessions, elsewhere: ["eliza:/d"] });
    const page = open(store, { kind: "chat" });
    await page.until(() => expect(page.all(".earlier-one")).toHaveLength(3));
    page.find(".earlier-list .button").click();
    await page.until(() =>
      expect(paramsOf(store, "resumeSession")).toEqual([{ channel: "eliza:/b" }, { channel: "eliza:/a" }]),
    );
  });

  test("that were open are all offered, and one that cannot be opened stops none of the others", async () => {
    const ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
    const closed = ["x", "y"].map((id) => kept(`eliza:/${id}`, { open: false }));
    const store = storeWith({ sessions: [...ids.map((id) => kept(`eliza:/${id}`)), ...closed] });
    const page = open(store, { kind: "chat" });
    await page.until(() => expect(page.all(".earlier-one")).toHaveLength(8));
    store.answer = (_, params) =>
      (params as { channel: string }).channel === "eliza:/g"
        ? Promise.reject(new Error("The workspace is gone."))
        : Promise.resolve({});
    page.find(".earlier-list .button").click();
    await page.until(() => expect(page.text()).toContain("About eliza:/g: The workspace is gone."));
    expect(paramsOf(store, "resumeSession")).toHaveLength(8);
    expect(page.text()).toContain("Reopened 7 conversations.");
  });

  test("that may not be all of them say so", async () => {
    const store = storeWith({ sessions: [kept("eliza:/a")], note: "The log was <b>damaged</b>." });
    const page = open(store, { kind: "chat" });
    await page.until(() => expect(page.find(".earlier-list .note").textContent).toBe("The log was <b>damaged</b>."));
  });

  test("that cannot be opened say why", async () => {
    const store = storeWith({ sessions: [kept("eliza:/a")] });
    const page = open(store, { kind: "chat" });
    await page.until(() => expect(page.all(".earlier-one")).toHaveLength(1));
    store.answer = () => Promise.reject(new Error("The workspace is gone."));
    page.find(".earlier-one").click();
    await page.until(() => expect(page.text()).toContain("The workspace is gone."));
  });

  test.each([undefined, null, {}, { sessions: 7 }, { sessions: [null, 1, { uri: 3 }, { uri: "x" }] }])(
    "an answer that makes no sense (%j) offers nothing",
    async (answer) => {
      const store = storeWith(answer);
      const page = open(store, { kind: "chat" });
      await page.until(() => expect(paramsOf(store, "listSessions")).toHaveLength(1));
      expect(page.all(".earlier-list")).toEqual([]);
    },
  );

  test("are offered in a conversation that has none of its own yet", async () => {
    const store = readyStore();
    store.session(SESSION).value = sessionState(SESSION, 1);
    store.chat(CHAT).value = { resource: CHAT, title: "", status: 1, modifiedAt: "", turns: [] };
    store.answer = () => Promise.resolve({ sessions: [kept("eliza:/old")] });
    const page = open(store, { kind: "chat" });
    await page.until(() => expect(page.all(".earlier-one")).toHaveLength(1));
  });
});
