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

describe("the connection banner", () => {
  test.each([
    ["behind", "Catching up"],
    ["busy", "The kernel is running a cell"],
    ["restarting", "Restarting the kernel"],
    ["silent", "The kernel isn't responding"],
    ["cut", "Disconnected."],
    ["restarted", "The kernel restarted"],
    ["gone", "The kernel ended"],
  ] as const)("explains the state %s in the chat and below a cell", (connection, text) => {
    const { store, page } = openWith(connection);
    const turn = open(store, { kind: "turn", channel: CHAT, turnId: "t1" });
    for (const view of [page, turn]) expect(view.find(".banner").textContent).toContain(text);
  });

  test("disappears when the connection is live again", async () => {
    const { store, page } = openWith("busy");
    store.connection.value = "live";
    await page.until(() => expect(page.all(".banner")).toEqual([]));
  });

  test.each([
    ["restarted", true],
    ["busy", false],
  ] as const)("warns that the last message may be lost when the kernel is %s: %s", (connection, isWarned) => {
    const store = readyStore();
    store.isUnsaid = true;
    store.connection.value = connection;
    const page = open(store, { kind: "chat" });
    expect(page.find(".banner").textContent?.includes("may not have reached it")).toBe(isWarned);
  });

  test("explains missing entries in their conversation until dismissed", async () => {
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

  test("shows that a conversation is closed instead of a spinner", async () => {
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

  test("links an ended view to the new chat", async () => {
    const { store, page } = openWith("restarted");
    expect(page.all(".banner button")).toEqual([]);
    const show = vi.fn();
    store.successor.value = show;
    await page.until(() => page.button("Show the new chat").click());
    expect(show).toHaveBeenCalledOnce();
  });
});

describe("the message box", () => {
  test.each(["behind", "busy", "silent", "cut"] as const)(
    "queues a message while the connection is %s",
    async (connection) => {
      const { store, page } = openWith(connection);
      type(box(page), "go on");
      await page.until(() => expect(page.button("Queue message").disabled).toBe(false));
      press(box(page), "Enter");
      expect(store.dispatched.map(({ action }) => action.type)).toEqual(["chat/pendingMessageSet"]);
    },
  );

  test.each(["restarted", "gone"] as const)(
    "keeps its draft and sends nothing when the kernel is %s",
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

describe("an ended view", () => {
  test("is marked as over when the kernel restarts", async () => {
    const { store, page } = openWith("live");
    expect(page.all(".root.is-over")).toEqual([]);
    store.connection.value = "restarted";
    await page.until(() => expect(page.all(".root.is-over").length).toBe(1));
  });
});
