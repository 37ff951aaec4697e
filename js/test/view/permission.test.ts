import { describe, expect, test } from "vitest";
import type { ConfirmationOption } from "../../src/state/types.gen";
import { INERT_FOR } from "../../src/view/parts/permission";
import { CHAT, type MemoryStore, readyStore, startTurn } from "./memory-store";
import { open, type Page } from "./page";

const OPTIONS: ConfirmationOption[] = [
  { id: "once", label: "Allow once", kind: "approve", optionKind: "allow_once" },
  { id: "always", label: "Always allow", kind: "approve", optionKind: "allow_always" },
  { id: "no", label: "Reject", kind: "deny", optionKind: "reject_once" },
];

function ask(store: MemoryStore, options: ConfirmationOption[] | undefined = OPTIONS): void {
  const call = { turnId: "t1", toolCallId: "c1" };
  const details = { kind: "execute", locations: [{ path: "/work/data.csv" }] };
  store.apply(CHAT, {
    type: "chat/toolCallStart",
    ...call,
    toolName: "execute",
    displayName: "Delete the data",
    details,
  });
  store.apply(CHAT, {
    type: "chat/toolCallReady",
    ...call,
    invocationMessage: "Delete the data",
    toolInput: "rm data.csv",
    ...(options ? { options } : {}),
  });
}

async function asked(options?: ConfirmationOption[]): Promise<{ store: MemoryStore; page: Page }> {
  const store = readyStore();
  const page = open(store, { kind: "chat" });
  startTurn(store, "t1", "Tidy up");
  ask(store, options);
  await page.until(() => page.find(".permission"));
  return { store, page };
}

async function armed(page: Page): Promise<void> {
  await page.until(() => expect(page.all(".permission-options [aria-disabled=true]")).toEqual([]));
}

describe("a permission card", () => {
  test("shows what is asked, with the agent's own options by name and in its order", async () => {
    const { page } = await asked();
    expect(page.text()).toContain("Delete the data");
    expect(page.text()).toContain("rm data.csv");
    expect(page.text()).toContain("/work/data.csv");
    const buttons = page.all(".permission-options button");
    expect(buttons.map((button) => button.textContent)).toEqual(["Allow once", "Always allow", "Reject"]);
    expect(buttons.map((button) => button.classList.contains("primary"))).toEqual([true, true, false]);
  });

  test("does nothing for its first half second, then answers", async () => {
    const { store, page } = await asked();
    const appeared = performance.now();
    page.button("Allow once").click();
    expect(store.dispatched).toEqual([]);
    expect(page.button("Allow once").getAttribute("aria-disabled")).toEqual("true");
    await armed(page);
    expect(performance.now() - appeared).toBeGreaterThan(INERT_FOR * 0.7);
    page.button("Allow once").click();
    expect(store.dispatched.length).toEqual(1);
  });

  test("an approving option is sent with its id and folds the card into one line", async () => {
    const { store, page } = await asked();
    await armed(page);
    page.button("Always allow").click();
    expect(store.dispatched).toEqual([
      {
        channel: CHAT,
        action: {
          type: "chat/toolCallConfirmed",
          turnId: "t1",
          toolCallId: "c1",
          approved: true,
          confirmed: "user-action",
          selectedOptionId: "always",
        },
      },
    ]);
    await page.until(() => expect(page.all(".permission")).toEqual([]));
    expect(page.find(".decision.allowed").textContent).toEqual("Always allow");
  });

  test("a denying option is sent as a denial and says so on one line", async () => {
    const { store, page } = await asked();
    await armed(page);
    page.button("Reject").click();
    expect(store.dispatched[0]?.action).toEqual({
      type: "chat/toolCallConfirmed",
      turnId: "t1",
      toolCallId: "c1",
      approved: false,
      reason: "denied",
      selectedOptionId: "no",
    });
    await page.until(() => expect(page.find(".decision.denied").textContent).toEqual("Reject"));
  });

  test("without options of its own it offers to allow and to deny", async () => {
    const { store, page } = await asked([]);
    await armed(page);
    page.button("Deny").click();
    expect(store.dispatched[0]?.action).toEqual({
      type: "chat/toolCallConfirmed",
      turnId: "t1",
      toolCallId: "c1",
      approved: false,
      reason: "denied",
    });
  });

  test("is a named group, and is announced politely with the agent's name", async () => {
    const { page } = await asked();
    const card = page.find(".permission");
    expect(card.getAttribute("role")).toEqual("group");
    const label = card.getAttribute("aria-labelledby") as string;
    expect(page.root.getElementById(label)?.textContent).toEqual("Permission needed");
    await page.until(() =>
      expect(page.find("[aria-live=polite]").textContent).toEqual("Eliza asks for permission: Delete the data"),
    );
  });

  test("takes the focus when the reader is nowhere else", async () => {
    const { page } = await asked();
    expect(page.root.activeElement).toBe(page.find(".permission"));
  });

  test("never takes the focus from someone who is typing", async () => {
    const store = readyStore();
    const page = open(store, { kind: "chat" });
    page.find("textarea").focus();
    startTurn(store, "t1", "Tidy up");
    ask(store);
    await page.until(() => page.find(".permission"));
    expect(page.root.activeElement).toBe(page.find("textarea"));
  });

  test("never takes the focus from the rest of the page", async () => {
    const cell = document.body.appendChild(document.createElement("button"));
    cell.focus();
    await asked();
    expect(document.activeElement).toBe(cell);
    cell.remove();
  });

  test("the focus stays at the tool call when the card is answered by keyboard", async () => {
    const { page } = await asked();
    await armed(page);
    page.button("Allow once").focus();
    page.button("Allow once").click();
    await page.until(() => expect(page.all(".permission")).toEqual([]));
    expect((page.root.activeElement as HTMLElement).dataset.call).toEqual("c1");
  });
});
