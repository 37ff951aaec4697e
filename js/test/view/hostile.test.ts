/** No text of an agent can run, or load anything from outside, in any field. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { waitingRequests } from "../../src/state/chat-inputs";
import type { Action, ResponsePart } from "../../src/state/types.gen";
import { shortest } from "../growth";
import { thoroughCases } from "../thorough";
import { CHAT, type MemoryStore, readyStore, SESSION, startTurn, summary } from "./memory-store";
import { open, type Page } from "./page";

interface Attack {
  text: string;
  times?: number;
}

const FOLDER = "../tests/cases/attacks";
/** The names that every object inherits: a lookup in a table by one of these must not find it. */
const INHERITED = Object.getOwnPropertyNames(Object.prototype);
/** Every attack of the cases, and every inherited name. */
const MESSAGES: string[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".json"))
  .flatMap((name) => (JSON.parse(readFileSync(`${FOLDER}/${name}`, "utf8")) as { messages: Attack[] }).messages)
  .map(({ text, times = 1 }) => text.repeat(times))
  .concat(INHERITED);
/** The number of messages in one view. */
const BATCH = 40;
/** Fewer for messages that end a turn: a view shows no more turns at a time. */
const TURNS = 15;

const FORBIDDEN = new Set(
  "script iframe object embed link meta base form style video source svg math foreignobject template".split(" "),
);
/** The view's own elements, which no text can name. */
const OURS: Readonly<Record<string, string>> = { form: ".prompt, .input-request", svg: ".icon" };

const HREF = /^(https?:\/\/|mailto:|(?![a-z][a-z0-9+.-]*:|\/\/|[\\])[^\\]*$)/i;
const SRC = /^data:(image\/(png|jpeg|gif|webp)|audio\/[a-z]+);base64,/;
const NEVER = new Set(["srcdoc", "action", "formaction", "ping", "background", "poster", "srcset", "data"]);

function isForbidden(element: Element): boolean {
  const name = element.localName.toLowerCase();
  return FORBIDDEN.has(name) && !(name in OURS && element.matches(OURS[name] as string));
}

function isHarmful(element: Element, name: string, value: string): boolean {
  if (name.startsWith("on") || NEVER.has(name)) return true;
  if (name === "href") return !HREF.test(value) || !element.getAttribute("rel")?.includes("noopener");
  if (name === "src") return !SRC.test(value);
  return name === "style" && /url|@import|expression/i.test(value);
}

/** Checks everything that a view has drawn. */
function expectHarmless(page: Page, what: string): void {
  const body = page.find(".root");
  const harmful: string[] = [];
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_ELEMENT);
  while (walker.nextNode()) {
    const element = walker.currentNode as Element;
    if (isForbidden(element)) harmful.push(element.outerHTML.slice(0, 200));
    // By name: jsdom makes an object for each member of `attributes`, which takes much longer.
    for (const name of element.getAttributeNames()) {
      const value = element.getAttribute(name) as string;
      if (isHarmful(element, name, value)) harmful.push(`${element.localName} ${name}=${value}`);
    }
  }
  expect(harmful, what).toEqual([]);
  expect((globalThis as Record<string, unknown>).pwned, what).toEqual(undefined);
  expect(Object.getOwnPropertyNames(Object.prototype), what).toEqual(INHERITED);
}

type Field = (store: MemoryStore, text: string) => void;

/** The id of the store's running turn. */
const running = (store: MemoryStore) => store.chat(CHAT).peek()?.activeTurn?.id ?? "";

const parts = (store: MemoryStore) => store.chat(CHAT).peek()?.activeTurn?.responseParts.length ?? 0;

const part = (store: MemoryStore, one: object) => {
  const id = `p${parts(store)}`;
  store.apply(CHAT, { type: "chat/responsePart", turnId: running(store), part: { id, ...one } as ResponsePart });
};

function call(store: MemoryStore, more: { start?: object; ready?: object; complete?: object }): void {
  const ids = { turnId: running(store), toolCallId: `c${parts(store)}` };
  const start = { type: "chat/toolCallStart", ...ids, toolName: "other", displayName: "Tool", ...more.start };
  store.apply(CHAT, start as Action);
  if (more.ready) {
    store.apply(CHAT, { type: "chat/toolCallReady", ...ids, invocationMessage: "Tool", ...more.ready } as Action);
  }
  if (more.complete) {
    const result = { success: true, pastTenseMessage: "Done", ...more.complete };
    store.apply(CHAT, { type: "chat/toolCallComplete", ...ids, result } as Action);
  }
}

const FIELDS: Record<string, Field> = {
  "message of the agent": (store, text) => part(store, { kind: "markdown", content: text }),
  thought: (store, text) => part(store, { kind: "reasoning", content: text }),
  "message of the user": (store, text) => part(store, { kind: "x-agentnb/userMessage", content: text }),
  notification: (store, text) => part(store, { kind: "systemNotification", content: text }),
  "notification in markdown": (store, text) => part(store, { kind: "systemNotification", content: { markdown: text } }),
  plan: (store, text) =>
    part(store, {
      kind: "x-agentnb/plan",
      entries: [{ content: text, status: text.slice(0, 50), priority: text }],
    }),
  "unknown update": (store, text) => part(store, { kind: "x-agentnb/raw", name: text, payload: { [text]: text } }),
  "unknown part": (store, text) => part(store, { kind: text, text }),
  "content reference": (store, text) => part(store, { kind: "contentRef", uri: text, contentType: text }),
  "resource link": (store, text) =>
    part(store, {
      kind: "x-agentnb/content",
      block: { type: "resource_link", name: text, title: text, uri: text, description: text },
    }),
  "text resource": (store, text) =>
    part(store, { kind: "x-agentnb/content", block: { type: "resource", resource: { uri: text, text } } }),
  "picture data": (store, text) =>
    part(store, {
      kind: "x-agentnb/content",
      block: { type: "image", mimeType: "image/png", data: text, uri: text },
    }),
  "picture type": (store, text) =>
    part(store, { kind: "x-agentnb/content", block: { type: "image", mimeType: text, data: "AAAA" } }),
  "picture in vectors": (store, text) =>
    part(store, {
      kind: "x-agentnb/content",
      block: {
        type: "image",
        mimeType: "image/svg+xml",
        data: btoa(unescape(encodeURIComponent(text.replace(/[\ud800-\udfff]/g, "")))),
      },
    }),
  "sound data": (store, text) =>
    part(store, { kind: "x-agentnb/content", block: { type: "audio", mimeType: "audio/wav", data: text } }),
  "content type": (store, text) => part(store, { kind: "x-agentnb/content", block: { type: text, data: text } }),
  "tool title": (store, text) => call(store, { start: { displayName: text, toolName: text } }),
  "tool kind and place": (store, text) =>
    call(store, { start: { details: { kind: text, locations: [{ path: text, line: 3 }] } } }),
  "tool input": (store, text) =>
    call(store, { ready: { confirmed: "not-needed", toolInput: text }, complete: { success: false } }),
  command: (store, text) =>
    call(store, { start: { details: { kind: "execute" } }, ready: { toolInput: text, options: [] } }),
  "tool output": (store, text) =>
    call(store, {
      start: {
        details: {
          content: [
            { type: "text", text },
            { type: "raw", raw: text },
          ],
          rawOutput: text,
        },
      },
      ready: { confirmed: "not-needed" },
      complete: { success: false, error: { message: text } },
    }),
  diff: (store, text) =>
    call(store, {
      start: { details: { content: [{ type: "diff", path: text, oldText: "a\n", newText: `${text}\n` }] } },
      ready: { confirmed: "not-needed" },
    }),
  terminal: (store, text) => {
    const id = `terminal ${parts(store)}`;
    const terminal = { id, command: text, output: text, signal: text, exited: true, truncated: false };
    store.apply(CHAT, { type: "x-agentnb/terminalOpened", terminal });
    const details = { content: [{ type: "terminal", terminalId: id }] };
    call(store, { start: { details }, ready: { confirmed: "not-needed" } });
  },
  "permission title and reason": (store, text) =>
    call(store, { ready: { confirmationTitle: text, invocationMessage: { markdown: text } } }),
  "name of an option": (store, text) =>
    call(store, { ready: { options: [{ id: text, label: text, kind: text, optionKind: text }] } }),
  error: (store, text) =>
    store.apply(CHAT, {
      type: "chat/error",
      turnId: running(store),
      part: { kind: "error", error: { errorType: text, message: text, stack: text } },
    }),
  "stop reason": (store, text) =>
    store.apply(CHAT, { type: "chat/turnComplete", turnId: running(store), stopReason: text }),
  "queued message": (store, text) =>
    store.apply(CHAT, {
      type: "chat/pendingMessageSet",
      kind: "queued",
      id: `q ${text.slice(0, 99)}`,
      message: { text, origin: { kind: "user" } },
    }),
  "attachment of the user": (store, text) => {
    const attachments = [
      { type: "resource", label: text, uri: text },
      { type: "embeddedResource", label: text, contentType: "image/png", data: text },
    ];
    const turnId = `${running(store)}, again`;
    store.apply(CHAT, { type: "chat/turnComplete", turnId: running(store) });
    const message = { text, origin: { kind: "user" }, attachments };
    store.apply(CHAT, { type: "chat/turnStarted", turnId, message } as Action);
  },
  "names, commands and modes": (store, text) => {
    const agent = { provider: "eliza", displayName: text, description: text, models: [] };
    store.root.value = { agents: [{ ...agent, provider: text }, agent], sessions: [summary(SESSION, text)] };
    const state = store.session(SESSION);
    if (!state.value) return;
    state.value = {
      ...state.value,
      commands: [{ name: text, description: text, hint: text }],
      modes: { currentModeId: text, availableModes: [{ id: text, name: text, description: text }] },
      configOptions: [
        { id: text, name: text, category: text, currentValue: text, options: [{ value: text, name: text }] },
        { id: `${text} yes`, name: text, currentValue: true },
      ],
      contextUsage: { used: 1, size: 2, cost: { amount: 1, currency: text } },
      agentProcess: { state: "failed", message: text },
    };
  },
  "form of the agent": (store, text) => {
    const options = [{ id: text, label: text, description: text }];
    store.apply(CHAT, {
      type: "chat/inputRequested",
      request: {
        id: `request ${waitingRequests(store.chat(CHAT).peek()).length}`,
        message: text,
        url: text,
        questions: [
          { kind: "text", id: "1", title: text, message: text, format: text, defaultValue: text },
          { kind: "single-select", id: "2", message: text, options },
          { kind: "multi-select", id: "3", title: text, message: text, options },
          { kind: "boolean", id: "4", message: text },
        ],
      },
    });
  },
  "written plan": (store, text) => {
    for (const plan of [
      { type: "markdown", content: text },
      { type: "file", uri: text },
    ]) {
      const planId = `${parts(store)}`;
      part(store, { kind: "x-agentnb/raw", name: "plan_update", payload: { plan: { ...plan, planId } } });
    }
  },
};

const IN_CHAT = { kind: "chat" } as const;
/** Only these fields are read as Markdown, so only there the length matters; others get a piece of a long text. */
const READ = new Set(["message of the agent", "tool output"]);
const LONG = 800;

/** Each of these ends its turn. */
const ENDS = new Set(["error", "stop reason", "attachment of the user"]);
/** For the whole session the last message wins: each message gets a separate view. */
const ALONE = new Set(["names, commands and modes"]);
/** Not parts of an answer: they are shown beside it. */
const BESIDE = new Set([...ENDS, ...ALONE, "queued message", "form of the agent"]);

/** Markdown fields get every message; each other field gets a quarter, and the next field another quarter. */
function messagesFor(name: string): string[] {
  if (READ.has(name)) return [...new Set(MESSAGES)];
  const pieces = new Set(MESSAGES.map((text) => text.slice(0, LONG)));
  return thoroughCases([...pieces], Object.keys(FIELDS).indexOf(name));
}

function batches(name: string): string[][] {
  const size = ALONE.has(name) ? 1 : ENDS.has(name) ? TURNS : BATCH;
  const messages = messagesFor(name);
  const batches: string[][] = [];
  for (let at = 0; at < messages.length; at += size) batches.push(messages.slice(at, at + size));
  return batches;
}

/** The whole chat; and once its last turn as below a cell, drawn by the same parts. */
function views(store: MemoryStore, name: string, first: boolean): Page[] {
  const chat = store.chat(CHAT).peek();
  const turn = chat?.activeTurn ?? chat?.turns.at(-1);
  const pages = [open(store, IN_CHAT)];
  if (turn && first && !ALONE.has(name)) pages.push(open(store, { kind: "turn", channel: CHAT, turnId: turn.id }));
  return pages;
}

/** Opens the folds, and the folds inside them. */
async function unfold(page: Page): Promise<void> {
  for (let depth = 0; depth < 2; depth += 1) {
    for (const fold of [...page.find(".root").getElementsByClassName("fold-head")])
      if (fold.getAttribute("aria-expanded") === "false") (fold as HTMLElement).click();
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  }
}

test("the attack corpus has more than 300 texts", () => {
  expect(new Set(MESSAGES).size).toBeGreaterThan(300);
});

describe.each(Object.entries(FIELDS))("hostile text in: %s", (name, fill) => {
  test("nothing runs or loads from outside", async () => {
    for (const [at, batch] of batches(name).entries()) {
      const store = readyStore();
      for (const [index, text] of batch.entries()) {
        if (index === 0 || ENDS.has(name)) startTurn(store, `t${index}`, "Hi");
        fill(store, text);
      }
      for (const page of views(store, name, at === 0)) {
        await unfold(page);
        const partCount = page.find(".root").getElementsByClassName("part").length;
        if (!BESIDE.has(name)) expect(partCount, name).toBeGreaterThanOrEqual(batch.length);
        expectHarmless(page, `${name}: ${JSON.stringify(batch.map((text) => text.slice(0, 60)))}`);
        page.unmount();
        await new Promise((resolve) => setImmediate(resolve)); // frees the view's memory
      }
    }
  }, 120_000);
});

/** In characters: the longest text that the browser lays out at once without delay. */
const LONGEST_TEXT = 30_000;
/** Texts for a screen reader or the targets of links: never laid out. */
const NOT_DRAWN = new Set(["href", "src", "id", "data-key"]);

/** The texts of the page that are longer than `LONGEST_TEXT`, with their elements. */
function longTexts(page: Page): string[] {
  const texts: string[] = [];
  const walker = document.createTreeWalker(page.find(".root"), NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node instanceof Text) {
      if (node.data.length > LONGEST_TEXT) texts.push(`${node.parentElement?.outerHTML.slice(0, 120)}`);
      continue;
    }
    const element = node as HTMLInputElement;
    if (/^(select|option)$/.test(element.localName)) continue; // a choice's id, which is not drawn
    for (const { name, value } of element.attributes)
      if (value.length > LONGEST_TEXT && !NOT_DRAWN.has(name)) texts.push(`${element.localName} ${name}`);
    if ((element.value?.length ?? 0) > LONGEST_TEXT) texts.push(`${element.localName}'s value`);
  }
  return texts;
}

describe.each(Object.entries(FIELDS))("a text of 400,000 characters in: %s", (name, fill) => {
  test.each(["*", "some words ", "a/", "a\n"])(
    "is drawn in pieces, or cut: %j",
    async (unit) => {
      const store = readyStore();
      startTurn(store, "t", "Hi");
      fill(store, unit.repeat(400_000 / unit.length));
      for (const page of views(store, name, true)) {
        await unfold(page);
        expect(longTexts(page)).toEqual([]);
        page.unmount();
      }
    },
    60_000,
  );
});

test("a permission card shows invisible and bidi characters as code points", () => {
  const store = readyStore();
  startTurn(store, "t1", "Hi");
  call(store, {
    start: { details: { kind: "execute" }, displayName: "ls\u202e" },
    ready: { toolInput: "rm \u202egpj.x\u202c -rf\u200b", options: [{ id: "1", label: "No\u200b", kind: "approve" }] },
  });
  const page = open(store, { kind: "chat" });
  expect(page.find(".permission-what code").textContent).toContain("rm ⟨U+202E⟩gpj.x⟨U+202C⟩ -rf⟨U+200B⟩");
  expect(page.find(".permission-options .allow button").textContent).toEqual("No⟨U+200B⟩");
});

test("raw HTML in a message is shown as text", () => {
  const store = readyStore();
  startTurn(store, "t1", "Hi");
  part(store, { kind: "markdown", content: `Look: <b>bold</b>\n\n<div onclick="x">block</div>` });
  expect(open(store, { kind: "chat" }).find(".answer").textContent).toEqual(
    `Look: <b>bold</b><div onclick="x">block</div>`,
  );
});

function draw(text: string): void {
  const store = readyStore();
  startTurn(store, "t1", "Hi");
  part(store, { kind: "markdown", content: text });
  open(store, { kind: "chat" }).unmount();
}

test.each([
  ["[", 8_000],
  ["*a_", 8_000],
  [">", 8_000],
  ["- ", 8_000],
  ["<a ", 8_000],
  ["`a", 3_000],
  ["```", 8_000],
  ["![](", 8_000],
  ["| a ", 2_000], // each becomes an element
] as const)(
  "draws repeated %j in roughly linear time",
  (unit, times) => {
    const small = unit.repeat(times);
    const large = small.repeat(3);
    draw(small); // warms the code up
    const isFine = (one: number, three: number) => three < 6 * Math.max(one, 5);
    const took = shortest(
      () => draw(small),
      () => draw(large),
      isFine,
    );
    expect(isFine(...took), `${took} ms`).toBe(true);
  },
  60_000,
);
