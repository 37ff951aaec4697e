import { describe, expect, test } from "vitest";
import { CHAT, readyStore, SESSION, startTurn } from "./memory-store";
import { open, press, type } from "./page";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function prompt() {
  const store = readyStore();
  const page = open(store, { kind: "chat" });
  return { store, page, box: page.find<HTMLTextAreaElement>("textarea") };
}

describe("the box to write in", () => {
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

  test("Shift+Enter breaks the line and sends nothing", async () => {
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
    expect(page.button("Send message").disabled).toEqual(true);
    expect(store.dispatched).toEqual([]);
  });

  test("while a turn runs a message is queued, is shown waiting, and can be removed", async () => {
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

  test("stop cancels the running turn", async () => {
    const { store, page } = prompt();
    startTurn(store, "t1", "first");
    await page.until(() => page.button("Stop"));
    page.button("Stop").click();
    expect(store.dispatched).toEqual([{ channel: CHAT, action: { type: "chat/turnCancelled", turnId: "t1" } }]);
    await page.until(() => expect(page.text()).toContain("Stopped"));
  });

  test("it is closed while the kernel is gone, and says why", async () => {
    const { store, page, box } = prompt();
    store.connection.value = "gone";
    await page.until(() => expect(box.readOnly).toEqual(true));
    expect(page.text()).toContain("The kernel has ended");
  });

  test("it is closed when the session could not be made, with the reason", async () => {
    const { store, page } = prompt();
    store.apply(SESSION, {
      type: "session/creationFailed",
      error: { errorType: "CommandNotFound", message: "eliza was not found: type  pip install agentnb" },
    });
    await page.until(() => expect(page.find<HTMLTextAreaElement>("textarea").readOnly).toEqual(true));
    expect(page.text()).toContain("pip install agentnb");
  });
});
