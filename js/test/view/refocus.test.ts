import { describe, expect, test } from "vitest";
import { AGENT, addSession, CHAT, MemoryStore, readyStore, SESSION, startTurn, summary } from "./memory-store";
import { open, press } from "./page";

const OTHER = "eliza:/two";
const box = (page: ReturnType<typeof open>) => page.find("textarea");

function two() {
  const store = readyStore();
  addSession(store, OTHER);
  store.root.value = { agents: [AGENT], sessions: [summary(SESSION, "First"), summary(OTHER, "Second")] };
  return { store, page: open(store, { kind: "chat" }) };
}

describe("when the focused element disappears, the focus", () => {
  test("moves to the message box from a button, the search bar or a form", async () => {
    const store = readyStore();
    startTurn(store, "t", "x");
    const page = open(store, { kind: "chat" });
    page.button("Stop").focus();
    page.button("Stop").click();
    await page.until(() => expect(page.root.activeElement).toBe(box(page)));
    press(box(page), "f", { ctrlKey: true });
    await page.until(() => expect(page.root.activeElement).toBe(page.find(".find input")));
    press(page.find(".find input"), "Escape");
    await page.until(() => expect(page.root.activeElement).toBe(box(page)));
    store.apply(CHAT, { type: "chat/inputRequested", request: { id: "r", message: "Tell me", questions: [] } });
    await page.until(() => page.button("Send"));
    page.button("Send").focus();
    page.button("Send").click();
    await page.until(() => expect(page.root.activeElement).toBe(box(page)));
  });

  test("moves from a closed tab to the selected tab", async () => {
    const { store, page } = two();
    const tab = page.find("[role=tab][aria-selected=true]");
    tab.focus();
    press(tab, "Delete");
    store.root.value = { agents: [AGENT], sessions: [summary(SESSION, "First")] };
    await page.until(() => expect(page.all("[role=tab]").length).toEqual(1));
    await page.until(() => expect(page.root.activeElement).toBe(page.find("[role=tab]")));
  });

  test("stays in its group or panel, and Escape closes the panel", async () => {
    const mount = (into: HTMLElement) => {
      into.innerHTML =
        "<div role='group'><button class='stays'>Edit</button><p><button class='goes'>Yes</button></p></div>";
      return () => into.replaceChildren();
    };
    const store = Object.assign(readyStore(), { module: () => Promise.resolve({ default: mount }) });
    const page = open(store, { kind: "chat" });
    press(page.find(".prompt textarea"), "h", { code: "KeyH", altKey: true });
    await page.until(() => page.find(".goes"));
    page.find(".goes").focus();
    page.find("p").remove();
    await page.until(() => expect(page.root.activeElement).toBe(page.find(".stays")));
    page.find("[role=group]").remove();
    await page.until(() => expect(page.root.activeElement).toBe(page.find("[aria-label=History]")));
    press(page.find("[aria-label=History]"), "Escape");
    await page.until(() => expect(page.all("[aria-label=History]")).toEqual([]));
  });

  test("does not move when the user is elsewhere on the page", async () => {
    const store = readyStore();
    startTurn(store, "t", "x");
    const page = open(store, { kind: "chat" });
    const cell = document.body.appendChild(document.createElement("input"));
    page.button("Stop").focus();
    cell.focus();
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t" });
    await page.until(() => expect(page.all(".stop")).toEqual([]));
    expect(document.activeElement).toBe(cell);
    cell.remove();
  });
});

test("a new conversation focuses the message box", async () => {
  const store = new MemoryStore();
  store.root.value = { agents: [AGENT], sessions: [], config: { schema: {}, values: { agent: "" } } };
  const page = open(store, { kind: "chat" });
  store.answer = (method) => Promise.resolve(method === "createSession" ? { channel: SESSION } : {});
  page.button("Tour").focus();
  page.button("Tour").click();
  store.apply("ahp-root://", { type: "x-agentnb/sessionSet", summary: summary(SESSION, "First") });
  addSession(store, SESSION);
  await page.until(() => expect(page.root.activeElement).toBe(box(page)));
  page.button("New conversation").focus();
  page.button("New conversation").click();
  await page.until(() => expect(page.all("[aria-selected=true]")).toEqual([]));
  await page.until(() => expect(page.root.activeElement).toBe(box(page)));
});
