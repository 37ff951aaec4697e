import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PendingPrompt } from "../../src/lab/pending-prompt";
import { eventually } from "../eventually";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A sidebar with a chat, with or without an open conversation. */
function sidebar({ isOpen = false } = {}) {
  const root = document.createElement("div");
  const view = root.appendChild(document.createElement("div"));
  view.className = "agentnb-view";
  const shadow = view.attachShadow({ mode: "open" });
  const sent: string[] = [];
  const state = { isOpen };
  view.addEventListener("agentnb-send", (event) => {
    if (!state.isOpen) return;
    event.preventDefault();
    sent.push((event as CustomEvent<string>).detail);
  });
  const begin = () => {
    state.isOpen = true;
    shadow.append(document.createElement("form"));
  };
  return { root, sent, begin };
}

test("sends a prompt at once when a conversation is open", async () => {
  const { root, sent } = sidebar({ isOpen: true });
  const pending = new PendingPrompt();
  await pending.send(root, "The error of [3]", Promise.resolve("Fix it"));
  expect([sent, pending.node.hidden]).toEqual([["Fix it"], true]);
});

test("shows a waiting prompt and sends it once when a conversation opens", async () => {
  const { root, sent, begin } = sidebar();
  const pending = new PendingPrompt();
  await pending.send(root, "The error of [3]", Promise.resolve("Fix it"));
  expect(pending.node.hidden).toEqual(false);
  expect(pending.node.textContent).toContain("The error of [3] is sent as soon as the chat is open.");
  begin();
  await eventually(() => expect(sent).toEqual(["Fix it"]));
  begin();
  await vi.runAllTimersAsync();
  expect([sent, pending.node.hidden]).toEqual([["Fix it"], true]);
});

test("shows the wait for a slow kernel and sends nothing once cancelled", async () => {
  const { root, sent, begin } = sidebar();
  const pending = new PendingPrompt();
  const sending = pending.send(root, "The error", new Promise(() => {}));
  await vi.advanceTimersByTimeAsync(1_500);
  expect(pending.node.hidden).toEqual(false);
  pending.node.querySelector("button")?.click();
  await sending;
  begin();
  await vi.runAllTimersAsync();
  expect([sent, pending.node.hidden]).toEqual([[], true]);
});

test("replaces a waiting prompt with the latest one", async () => {
  const { root, sent, begin } = sidebar();
  const pending = new PendingPrompt();
  await pending.send(root, "The error of [3]", Promise.resolve("first"));
  await pending.send(root, "The error of [4]", Promise.resolve("second"));
  begin();
  await eventually(() => expect(sent).toEqual(["second"]));
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["second"]);
});
