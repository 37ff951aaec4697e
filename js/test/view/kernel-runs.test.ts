/** The card of a tool call that runs code in the kernel, during and after the run. */
import { expect, onTestFinished, test, vi } from "vitest";
import type { ToolCallRun } from "../../src/state/types.gen";
import { chatMarkdown } from "../../src/view/export";
import { CHAT, type MemoryStore, readyStore, SESSION, startTurn } from "./memory-store";
import { open } from "./page";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const call = { turnId: "t1", toolCallId: "c1" };
const text = (words: string) => ({ type: "text", text: words }) as const;

function begun(): MemoryStore {
  const store = readyStore();
  startTurn(store, "t1", "Fit it");
  const details = { kind: "kernel", content: [text('{"code": "the words of the agent"}')] };
  store.apply(CHAT, { type: "chat/toolCallStart", ...call, toolName: "run", displayName: "Run code", details });
  store.apply(CHAT, {
    type: "chat/toolCallReady",
    ...call,
    invocationMessage: "Run code",
    toolInput: "fit(df)",
    confirmed: "setting",
  });
  return store;
}

function runs(store: MemoryStore, run: ToolCallRun): void {
  store.apply(CHAT, { type: "x-agentnb/toolCallDetailsChanged", ...call, details: { run } });
}

function ends(store: MemoryStore, success: boolean): void {
  store.apply(CHAT, { type: "chat/toolCallComplete", ...call, result: { success, pastTenseMessage: "" } });
}

test("a running call shows its output and time, and Stop stops that call", async () => {
  vi.setSystemTime(1_700_000_000_000); // stops the clock
  onTestFinished(() => void vi.useRealTimers());
  const store = begun();
  const page = open(store, { kind: "chat" });
  runs(store, { startedAt: Date.now() - 75_500, content: [text("\u001b[31mepoch 1\u001b[0m\n")] });
  await page.until(() => expect(page.find(".tool .output").textContent).toBe("epoch 1\n"));
  expect(page.find(".tool .output span").className).not.toBe("");
  expect([page.find(".tool .elapsed").textContent, page.find(".tool pre.input").textContent]).toEqual([
    "1 min 15 s",
    "fit(df)",
  ]);
  expect(page.text()).not.toContain("the words of the agent");
  store.answer = () => Promise.reject(new Error("It runs no code."));
  page.button("Stop this code").click();
  expect(store.requested.at(-1)).toEqual({
    method: "stopToolCall",
    params: { channel: SESSION, toolCallId: "c1" },
  });
  await page.until(() => expect(page.find(".tool [role=status]").textContent).toBe("It runs no code."));
  expect(store.dispatched).toEqual([]);
});

test("a finished call shows its output, pictures and duration", async () => {
  const store = begun();
  const page = open(store, { kind: "chat" });
  const picture = { type: "block", block: { type: "image", mimeType: "image/png", data: PIXEL } } as const;
  runs(store, { startedAt: 1000, endedAt: 4240, content: [text("R² = 0.9"), picture] });
  ends(store, true);
  await page.until(() => expect(page.all(".tool .picture")).toHaveLength(1));
  expect([page.find(".tool .elapsed").textContent, page.find(".tool .output").textContent]).toEqual([
    "3.2 s",
    "R² = 0.9",
  ]);
  expect(page.text()).not.toContain("the words of the agent");
  expect(page.all("button").map((one) => one.textContent)).not.toContain("Stop this code");
  const saved = chatMarkdown(store.chat(CHAT).peek() as never, "Fit");
  expect(saved).toContain("<summary>Run code (done, 3 s)</summary>");
  expect(saved).toContain("R² = 0.9");
});

test("a failed call keeps its coloured output, with the error below it", async () => {
  const store = begun();
  const page = open(store, { kind: "chat" });
  const printed = "\u001b[32mstep 1\u001b[0m done\nstep 2 done";
  const content = [text(`${printed}\n\`\`\`\nZeroDivisionError: division by zero\n\`\`\``)];
  runs(store, { startedAt: 1000, endedAt: 1010, content });
  ends(store, false);
  const output = "step 1 done\nstep 2 done\nZeroDivisionError: division by zero";
  await page.until(() => expect(page.find(".failure").textContent).toBe("ZeroDivisionError: division by zero"));
  expect(page.all(".tool .output")).toEqual([]);
  page.find(".tool .fold-head").click();
  await page.until(() => expect(page.find(".tool .output").textContent).toBe(output));
  expect(page.find(".tool .output span").textContent).toBe("step 1");
  expect(chatMarkdown(store.chat(CHAT).peek() as never, "Fit")).toContain(`\`\`\`\n${output}\n\`\`\``);
});

test("code that raised an error shows Failed and the error", async () => {
  const store = begun();
  const page = open(store, { kind: "chat" });
  runs(store, { startedAt: 1000, endedAt: 1010, content: [text("```\nZeroDivisionError: division by zero\n```")] });
  ends(store, false);
  await page.until(() => expect(page.find(".tool.is-failed").textContent).toContain("ZeroDivisionError"));
  expect([page.find(".tool .state-text").textContent, page.find(".tool .elapsed").textContent]).toEqual([
    "Failed",
    "0.1 s",
  ]);
});
