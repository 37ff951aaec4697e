/** A page for long and hostile text: `show(field, text)` puts it into the real view, at once or as a stream. */
import type { Signal } from "@preact/signals";
import { reduceChat } from "../src/state/reduce";
import type { Action, ChatState } from "../src/state/types.gen";
import { mount } from "../src/view/mount";
import { SCENES } from "./scenes";

const CHAT = "claude:/analysis/chat";
let turns = 0;
let unmount = () => {};
const tasks: number[] = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) tasks.push(entry.duration);
}).observe({ type: "longtask" });

const frame = () => new Promise(requestAnimationFrame);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The actions that put `text` into a field of a turn. */
function actions(field: string, text: string, turnId: string): Action[] {
  const part = (one: object) => [{ type: "chat/responsePart", turnId, part: { id: "p", ...one } }];
  const ids = { turnId, toolCallId: "c" };
  const call = (start: object, ready: object = {}) => [
    { type: "chat/toolCallStart", ...ids, toolName: "other", displayName: "Tool", ...start },
    { type: "chat/toolCallReady", ...ids, invocationMessage: "Tool", confirmed: "not-needed", ...ready },
    { type: "chat/toolCallComplete", ...ids, result: { success: false, pastTenseMessage: "Failed" } },
  ];
  const content = (one: object) => call({ details: { content: [one] } });
  const fields: Record<string, () => object[]> = {
    message: () => part({ kind: "markdown", content: text }),
    thought: () => part({ kind: "reasoning", content: text }),
    notification: () => part({ kind: "systemNotification", content: text }),
    plan: () => part({ kind: "x-agentnb/plan", entries: [{ content: text, status: "pending", priority: "high" }] }),
    title: () => call({ displayName: text }),
    output: () => content({ type: "text", text }),
    change: () => content({ type: "diff", path: "a.txt", oldText: "a\n", newText: text }),
    rewrite: () => content({ type: "diff", path: "a.txt", oldText: text, newText: `${text.replaceAll("a", "b")}\nb` }),
    input: () => call({}, { toolInput: text }),
    json: () => call({}, { toolInput: JSON.stringify({ text }) }),
    result: () => call({ details: { rawOutput: { text } } }),
    user: () => part({ kind: "x-agentnb/userMessage", content: text }),
  };
  return (fields[field] as () => object[])() as Action[];
}

/** Draws `text` in `field` of a new view, scrolls through it; returns the longest task in milliseconds. */
async function show(field: string, text: string, pieces = 1): Promise<number> {
  unmount();
  const scene = (SCENES.empty as () => ReturnType<(typeof SCENES)[string]>)();
  const chat = scene.store.chat(CHAT) as Signal<ChatState>;
  const main = document.querySelector("main") as HTMLElement;
  main.replaceChildren();
  unmount = mount(main, scene.store, scene.what) ?? (() => {});
  const apply = (action: Action) => {
    chat.value = reduceChat(chat.peek(), action);
  };
  const turnId = `t${turns++}`;
  apply({ type: "chat/turnStarted", turnId, message: { text: "Go", origin: { kind: "user" } } });
  await pause(200);
  tasks.length = 0;
  if (pieces === 1) for (const action of actions(field, text, turnId)) apply(action);
  else await streamed(text, pieces, turnId, apply);
  await pause(400);
  apply({ type: "chat/turnComplete", turnId } as Action);
  const root = (document.querySelector(".agentnb-view") as HTMLElement).shadowRoot as ShadowRoot;
  for (const fold of root.querySelectorAll<HTMLElement>(".fold-head[aria-expanded=false]")) fold.click();
  await pause(300);
  for (const button of root.querySelectorAll<HTMLElement>(".text-button"))
    if (/Show all/.test(button.textContent ?? "")) button.click();
  const box = root.querySelector(".transcript") as HTMLElement;
  for (let at = 0; at < 12; at += 1) {
    box.scrollTop = (box.scrollHeight * at) / 12;
    await frame();
    await pause(60);
  }
  await pause(200);
  return Math.max(0, ...tasks);
}

async function streamed(text: string, pieces: number, turnId: string, apply: (action: Action) => void): Promise<void> {
  apply({ type: "chat/responsePart", turnId, part: { kind: "markdown", id: "p", content: "" } });
  const size = Math.ceil(text.length / pieces);
  for (let at = 0; at < text.length; at += size) {
    apply({ type: "chat/delta", turnId, partId: "p", content: text.slice(at, at + size) });
    await pause(5);
  }
}

Object.assign(globalThis, { show });
