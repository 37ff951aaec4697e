/** The view shows the actions that the kernel rejects, and loses none of the user's text. */
import { expect, test } from "vitest";
import { CHAT, readyStore, SESSION, startTurn } from "./memory-store";
import { open, type Page, press, type } from "./page";

const box = (page: Page) => page.find<HTMLTextAreaElement>("textarea");
const notices = (page: Page) => page.all(".refusal").map((one) => one.textContent);

async function say(page: Page, text: string): Promise<void> {
  type(box(page), text);
  await page.until(() => expect(page.find<HTMLButtonElement>("button[type=submit]").disabled).toBe(false));
  press(box(page), "Enter");
  await page.until(() => expect(box(page).value).toBe(""));
}

test("a rejected prompt shows the reason and returns to the message box", async () => {
  const store = readyStore();
  const page = open(store, { kind: "chat" });
  expect(page.find(".refusals").getAttribute("role")).toBe("status");
  await say(page, "What is in df?");
  store.refuse("The session is closed.");
  await page.until(() => expect(box(page).value).toBe("What is in df?"));
  expect(notices(page)).toEqual([
    "Your message wasn't accepted; it is back in the message box. The session is closed.",
  ]);
});

test("a rejected prompt is inserted before the current draft", async () => {
  const store = readyStore();
  const page = open(store, { kind: "chat" });
  await say(page, "first");
  type(box(page), "second");
  store.refuse("No.");
  await page.until(() => expect(box(page).value).toBe("first\n\nsecond"));
});

test("a rejected queued prompt returns once to the box in every view", async () => {
  const store = readyStore();
  startTurn(store, "t1", "before");
  const pages = [open(store, { kind: "chat" }), open(store, { kind: "chat" })] as const;
  await say(pages[0], "next");
  store.refuse("No.");
  for (const page of pages) await page.until(() => expect(box(page).value).toBe("next"));
});

test("Dismiss and sending again both remove the notice", async () => {
  const store = readyStore();
  const page = open(store, { kind: "chat" });
  await say(page, "first");
  store.refuse("No.");
  await page.until(() => expect(notices(page)).toHaveLength(1));
  page.button("Dismiss").click();
  await page.until(() => expect(notices(page)).toEqual([]));
  press(box(page), "Enter");
  store.refuse("No, again.");
  await page.until(() => expect(notices(page)).toHaveLength(1));
  await page.until(() => expect(box(page).value).toBe("first"));
  press(box(page), "Enter");
  await page.until(() => expect(notices(page)).toEqual([]));
});

test.each([
  [CHAT, { type: "chat/turnCancelled", turnId: "t1" }, "The turn wasn't stopped."],
  [SESSION, { type: "session/titleChanged", title: "x" }, "The conversation wasn't renamed."],
  [SESSION, { type: "x-agentnb/modeChanged", modeId: "code" }, "The mode wasn't changed."],
  [CHAT, { type: "chat/somethingNew" }, "That action was rejected."],
] as const)("on %s the rejection of %j is shown in the chat and below a cell", async (channel, action, sentence) => {
  const store = readyStore();
  startTurn(store, "t1", "first");
  const views = [open(store, { kind: "chat" }), open(store, { kind: "turn", channel: CHAT, turnId: "t1" })];
  store.refusals.value = [{ id: 1, channel, action: action as never, reason: "The agent said no." }];
  for (const view of views) await view.until(() => expect(notices(view)).toEqual([`${sentence} The agent said no.`]));
});

test("rejected automatic actions show no notice", async () => {
  const store = readyStore();
  const page = open(store, { kind: "chat" });
  store.refusals.value = [
    { id: 1, channel: SESSION, action: { type: "session/isReadChanged", isRead: true }, reason: "No." },
    { id: 2, channel: "eliza:/closed", action: { type: "session/titleChanged", title: "x" }, reason: "It was closed." },
  ];
  await page.until(() => expect(notices(page)).toEqual(["The conversation wasn't renamed. It was closed."]));
});
