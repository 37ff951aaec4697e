/** A page for long and hostile text: puts it into a field of the real view, at once or as a stream, and reads it. */
import type { Signal } from "@preact/signals";
import { reduceChat } from "../src/state/reduce";
import type { Action, ChatState } from "../src/state/types.gen";
import { mount } from "../src/view/mount";
import type { What } from "../src/view/store";
import { SCENES } from "./scenes";

type Apply = (action: object) => void;
const CHAT = "claude:/analysis/chat";
const TURN = "u1";
const VIEWS: Record<string, What> = {
  chat: { kind: "chat", tab: "analysis" },
  cell: { kind: "turn", channel: CHAT, turnId: TURN },
};

const frame = () => new Promise(requestAnimationFrame);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const part = (one: object) => [{ type: "chat/responsePart", turnId: TURN, part: { id: "p", ...one } }];
function call(start: object, ready: object = {}, result: object = {}): object[] {
  const ids = { turnId: TURN, toolCallId: "c" };
  return [
    { type: "chat/toolCallStart", ...ids, toolName: "other", displayName: "Tool", ...start },
    { type: "chat/toolCallReady", ...ids, invocationMessage: "Tool", confirmed: "not-needed", ...ready },
    { type: "chat/toolCallComplete", ...ids, result: { success: false, pastTenseMessage: "Failed", ...result } },
  ];
}
/** A tool call that waits for an answer: no part follows it. */
const question = (details: object, text: string) => [
  ...call({ displayName: text, details }).slice(0, 1),
  {
    type: "chat/toolCallReady",
    turnId: TURN,
    toolCallId: "c",
    invocationMessage: text,
    confirmationTitle: text,
    toolInput: text,
    options: ["approve", "deny"].map((kind) => ({ id: kind, label: text, kind })),
    risk: { severity: "critical", reason: text, like: text },
  },
];
const content = (one: object) => call({ details: { kind: "execute", content: [one] } });
const terminal = (output: string) => [
  { type: "x-agentnb/terminalOpened", terminal: { id: "t", command: "make", output, exited: false } },
  ...content({ type: "terminal", terminalId: "t" }),
];

/** The actions that put a text into a field of the turn, by field. */
const FIELDS: Record<string, (text: string) => object[]> = {
  message: (text) => part({ kind: "markdown", content: text }),
  thought: (text) => part({ kind: "reasoning", content: text }),
  notification: (text) => part({ kind: "systemNotification", content: text }),
  plan: (text) => part({ kind: "x-agentnb/plan", entries: [{ content: text, status: "pending", priority: "high" }] }),
  "written plan": (text) =>
    part({
      kind: "x-agentnb/raw",
      name: "plan_update",
      payload: { plan: { type: "markdown", planId: "p", content: text } },
    }),
  resource: (text) =>
    part({ kind: "x-agentnb/content", block: { type: "resource", resource: { uri: "file:///a", text } } }),
  unknown: (text) => part({ kind: "x-agentnb/raw", name: "news", payload: { text } }),
  title: (text) => call({ displayName: text, intention: text }, { invocationMessage: text }),
  outcome: (text) => call({}, {}, { pastTenseMessage: text, error: { message: text } }),
  output: (text) => content({ type: "text", text }),
  terminal: (text) => terminal(text),
  change: (text) => content({ type: "diff", path: "a.txt", oldText: "a\n", newText: text }),
  rewrite: (text) =>
    content({ type: "diff", path: "a.txt", oldText: text, newText: `${text.replaceAll("a", "b")}\nb` }),
  path: (text) => content({ type: "diff", path: text, oldText: "a", newText: "b" }),
  input: (text) => call({}, { toolInput: text }),
  json: (text) => call({}, { toolInput: JSON.stringify({ text }) }),
  result: (text) => call({ details: { rawOutput: { text } } }),
  places: (text) => call({ details: { kind: "read", locations: [{ path: text, line: 1 }] } }),
  link: (text) =>
    part({
      kind: "x-agentnb/content",
      block: { type: "resource_link", name: text, title: text, uri: `file:///${text}`, description: text },
    }),
  command: (text) => question({ kind: "execute", rawInput: { command: text } }, text),
  cell: (text) =>
    question(
      { kind: "edit", cell: { notebook: text, action: "replace", cellId: text, oldText: "a", newText: text } },
      text,
    ),
  deletion: (text) => question({ kind: "delete", locations: [{ path: text }] }, text),
  form: (text) => [
    {
      type: "chat/inputRequested",
      request: {
        id: "q",
        message: text,
        questions: [
          { kind: "text", id: "a", title: text, message: text, defaultValue: text },
          { kind: "single-select", id: "b", title: text, message: text, options: [{ id: text, label: text }] },
        ],
      },
    },
  ],
  waiting: (text) => [
    { type: "chat/pendingMessageSet", kind: "queued", id: "w", message: { text, origin: { kind: "user" } } },
  ],
  failure: (text) => [
    { type: "chat/error", turnId: TURN, error: { errorType: "agent", message: text }, stopReason: text },
  ],
  user: (text) => part({ kind: "x-agentnb/userMessage", content: text }),
  prompt: () => [],
};

/** For each field, the actions that start a stream and the action for each piece. */
const STREAMS: Record<string, [start: () => object[], piece: (content: string) => object]> = {
  message: [
    () => part({ kind: "markdown", content: "" }),
    (content) => ({ type: "chat/delta", turnId: TURN, partId: "p", content }),
  ],
  thought: [
    () => part({ kind: "reasoning", content: "" }),
    (content) => ({ type: "chat/reasoning", turnId: TURN, partId: "p", content }),
  ],
  terminal: [() => terminal("").slice(0, -1), (data) => ({ type: "x-agentnb/terminalData", terminalId: "t", data })],
};

let leave: () => void = () => {};
let go: (pieces: number) => Promise<void>;
let end: () => void;

/** Shows an empty turn, for `draw` to put the text into; afterwards the browser is idle. */
async function prepare(where: string, field: string, start: string, unit: string, times: number): Promise<void> {
  leave();
  const text = start + unit.repeat(times);
  const { store } = (SCENES.empty as () => ReturnType<(typeof SCENES)[string]>)();
  const chat = store.chat(CHAT) as Signal<ChatState>;
  const main = document.querySelector("main") as HTMLElement;
  main.replaceChildren();
  leave = mount(main, store, VIEWS[where] as What);
  const apply: Apply = (action) => {
    chat.value = reduceChat(chat.peek(), action as Action);
  };
  const begin = (prompt: string) =>
    apply({ type: "chat/turnStarted", turnId: TURN, message: { text: prompt, origin: { kind: "user" } } });
  if (field !== "prompt") begin("Go");
  go = async (pieces) => {
    if (field === "prompt") begin(text);
    if (pieces === 1) for (const action of (FIELDS[field] as (typeof FIELDS)[string])(text)) apply(action);
    else await stream(field, text, pieces, apply);
  };
  end = () => apply({ type: "chat/turnComplete", turnId: TURN });
  text.charCodeAt(0); // Flattens it: until it is read, a repeated text is a tree of its parts.
  await pause(300);
  await frame();
}

async function stream(field: string, text: string, pieces: number, apply: Apply): Promise<void> {
  const [start, piece] = STREAMS[field] as (typeof STREAMS)[string];
  for (const action of start()) apply(action);
  const size = Math.ceil(text.length / pieces);
  for (let at = 0; at < text.length; at += size) {
    apply(piece(text.slice(at, at + size)));
    await pause(5);
  }
}

/** Draws the text, ends the turn, opens everything and scrolls through it. Returns how much text the page holds. */
async function draw(pieces: number): Promise<number> {
  performance.mark("draw");
  await go(pieces);
  await pause(400);
  end();
  await pause(100);
  const root = (document.querySelector(".agentnb-view") as HTMLElement).shadowRoot as ShadowRoot;
  for (let round = 0; round < 2; round += 1) {
    for (const fold of root.querySelectorAll<HTMLElement>(".fold-head[aria-expanded=false]")) fold.click();
    await pause(200);
  }
  for (const button of root.querySelectorAll<HTMLElement>(".text-button"))
    if (/^Show (all|the beginning)/.test(button.textContent ?? "")) button.click();
  await grown(root);
  const box = root.querySelector(".transcript, .turn-view") as HTMLElement;
  // Only three: scrolling a box that is off screen makes the browser lay it out, and thousands would dominate the
  // result.
  const boxes = [box, ...[...root.querySelectorAll<HTMLElement>("pre, .hunks")].slice(0, 3)];
  for (let at = 0; at < 12; at += 1) {
    for (const one of boxes) one.scrollTop = (one.scrollHeight * at) / 12;
    scrollTo(0, (document.body.scrollHeight * at) / 12);
    await frame();
    await pause(60);
  }
  await pause(200);
  performance.mark("drawn");
  return root.textContent?.length ?? 0;
}

/** Waits until nothing more is drawn, at most five rounds: enough to measure continued drawing. */
async function grown(root: ShadowRoot): Promise<void> {
  const count = () => root.querySelectorAll(".block, .slice, .line").length;
  for (let [before, round] = [-1, 0]; before !== count() && round < 5; round += 1) {
    before = count();
    await pause(400);
  }
}

/** A fixed amount of work like the view's: about 100 ms on a processor of 2023. */
async function reference(): Promise<void> {
  await pause(50);
  performance.mark("reference");
  const tokens: { type: string; raw: string }[] = [];
  for (let at = 0; at < 500_000; at += 1) tokens.push({ type: `x${at % 7}`, raw: String(at) });
  const words = tokens.map(({ raw }) => raw).join(" ");
  if (words.replace(/\d/g, "y").length === 0) throw new Error("The reference did nothing.");
  await pause(50);
}

Object.assign(globalThis, { prepare, draw, reference });
