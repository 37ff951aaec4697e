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
  test("list those of this notebook and open one on a click", async () => {
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

  test("reopen all that were open, except those open elsewhere", async () => {
    const sessions = [kept("eliza:/a"), kept("eliza:/b"), kept("eliza:/c", { open: false }), kept("eliza:/d")];
    const store = storeWith({ sessions, elsewhere: ["eliza:/d"] });
    const page = open(store, { kind: "chat" });
    await page.until(() => expect(page.all(".earlier-one")).toHaveLength(3));
    page.find(".earlier-list .button").click();
    await page.until(() =>
      expect(paramsOf(store, "resumeSession")).toEqual([{ channel: "eliza:/b" }, { channel: "eliza:/a" }]),
    );
  });

  test("reopen the others when one fails and show its error", async () => {
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

  test("show a note when the list may be incomplete", async () => {
    const store = storeWith({ sessions: [kept("eliza:/a")], note: "The log was <b>damaged</b>." });
    const page = open(store, { kind: "chat" });
    await page.until(() => expect(page.find(".earlier-list .note").textContent).toBe("The log was <b>damaged</b>."));
  });

  test("show why one could not be opened", async () => {
    const store = storeWith({ sessions: [kept("eliza:/a")] });
    const page = open(store, { kind: "chat" });
    await page.until(() => expect(page.all(".earlier-one")).toHaveLength(1));
    store.answer = () => Promise.reject(new Error("The workspace is gone."));
    page.find(".earlier-one").click();
    await page.until(() => expect(page.text()).toContain("The workspace is gone."));
  });

  test.each([undefined, null, {}, { sessions: 7 }, { sessions: [null, 1, { uri: 3 }, { uri: "x" }] }])(
    "ignore a malformed answer of the kernel (%j)",
    async (answer) => {
      const store = storeWith(answer);
      const page = open(store, { kind: "chat" });
      await page.until(() => expect(paramsOf(store, "listSessions")).toHaveLength(1));
      expect(page.all(".earlier-list")).toEqual([]);
    },
  );

  test("are listed in a conversation without turns", async () => {
    const store = readyStore();
    store.session(SESSION).value = sessionState(SESSION, 1);
    store.chat(CHAT).value = { resource: CHAT, title: "", status: 1, modifiedAt: "", turns: [] };
    store.answer = () => Promise.resolve({ sessions: [kept("eliza:/old")] });
    const page = open(store, { kind: "chat" });
    await page.until(() => expect(page.all(".earlier-one")).toHaveLength(1));
  });
});
