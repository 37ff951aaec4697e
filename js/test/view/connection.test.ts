/** The messages about the connection, and the actions that remain available. */
import { describe, expect, test, vi } from "vitest";
import type { Connection } from "../../src/view/store";
import { CHAT, readyStore, startTurn } from "./memory-store";
import { open, press, type } from "./page";

function openWith(connection: Connection) {
  const store = readyStore();
  startTurn(store, "t1", "first");
  store.connection.value = connection;
  return { store, page: open(store, { kind: "chat" }) };
}

const box = (page: ReturnType<typeof open>) => page.find<HTMLTextAreaElement>("textarea");

describe("the banner", () => {
  test.each([
    ["behind", "Catching up"],
    ["busy", "The kernel is running a cell"],
    ["restarting", "Restarting the kernel"],
    ["silent", "The kernel isn't responding"],
    ["cut", "Disconnected."],
    ["restarted", "The kernel restarted"],
    ["gone", "The kernel ended"],
  ] as const)("says what %s means, in the chat and below a cell", (connection, text) => {
    const { store, page } = openWith(connection);
    const turn = open(store, { kind: "turn", channel: CHAT, turnId: "t1" });
    for (const view of [page, turn]) expect(view.find(".banner").textContent).toContain(text);
  });

  test("is not there while all is well", async () => {
    const { store, page } = openWith("busy");
    store.connection.value = "live";
    await page.until(() => expect(page.all(".banner")).toEqual([]));
  });

  test.each([
    ["restarted", true],
    ["busy", false],
  ] as const)("says of what was sent last, when the kernel is %s, that it may be lost: %s", (connection, isWarned) => {
    const store = readyStore();
    store.isUnsaid = true;
    store.connection.value = connection;
    const page = open(store, { kind: "chat" });
    expect(page.find(".banner").textContent?.includes("may not have reached it")).toBe(isWarned);
  });

  test("says what is missing, why, and only where it is missing, until the reader has seen it", async () => {
    const { store, page } = openWith("gap");
    const elsewhere = "eliza:/two/chat";
    store.gaps.value = { [elsewhere]: "Nobody looks at that." };
    await page.until(() => expect(page.all(".banner")).toEqual([]));
    store.gaps.value = { ...store.gaps.value, [CHAT]: "Entries 7 to 9 of the log cannot be read." };
    const turn = open(store, { kind: "turn", channel: CHAT, turnId: "t1" });
    for (const view of [page, turn])
      await view.until(() =>
        expect(view.find(".banner[role=status]").textContent).toContain("Entries 7 to 9 of the log cannot be read."),
      );
    page.button("OK").click();
    await page.until(() => expect(page.all(".banner")).toEqual([]));
    expect(store.gaps.value).toEqual({ [elsewhere]: "Nobody looks at that." });
  });

  test("says that a conversation is no longer there, where it would be waited for in vain", async () => {
    const store = readyStore();
    store.connection.value = "gap";
    store.gaps.value = { "eliza:/none": "This conversation is no longer open in the kernel." };
    const turn = open(store, { kind: "turn", channel: "eliza:/none/chat", turnId: "t1" });
    expect([turn.text().includes("no longer open"), turn.all(".spinner"), turn.all(".status-line")]).toEqual([
      true,
      [],
      [],
    ]);
  });

  test("leads from a view that is over to the one that goes on", async () => {
    const { store, page } = openWith("restarted");
    expect(page.all(".banner button")).toEqual([]);
    const show = vi.fn();
    store.successor.value = show;
    await page.until(() => page.button("Show the new chat").click());
    expect(show).toHaveBeenCalledOnce();
  });
});

describe("the box", () => {
  test.each(["behind", "busy", "silent", "cut"] as const)(
    "sends while the connection is %s: it is kept",
    async (connection) => {
      const { store, page } = openWith(connection);
      type(box(page), "go on");
      await page.until(() => expect(page.button("Queue message").disabled).toBe(false));
      press(box(page), "Enter");
      expect(store.dispatched.map(({ action }) => action.type)).toEqual(["chat/pendingMessageSet"]);
    },
  );

  test.each(["restarted", "gone"] as const)(
    "keeps its draft when the kernel is %s, and sends nothing",
    async (connection) => {
      const { store, page } = openWith("live");
      type(box(page), "a draft");
      await page.until(() => expect(page.button("Queue message").disabled).toBe(false));
      store.connection.value = connection;
      await page.until(() => expect(page.button("Queue message").disabled).toBe(true));
      press(box(page), "Enter");
      expect([box(page).value, store.dispatched]).toEqual(["a draft", []]);
    },
  );
});

describe("a view that is over", () => {
  test("is marked so that nothing in it claims to work", async () => {
    const { store, page } = openWith("live");
    expect(page.all(".root.is-over")).toEqual([]);
    store.connection.value = "restarted";
    await page.until(() => expect(page.all(".root.is-over").length).toBe(1));
  });
});
