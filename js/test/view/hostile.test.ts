/** Nothing an agent says can run, or load anything from outside, in whatever field it says it. */
import { describe, expect, test } from "vitest";
import type { Action, ResponsePart } from "../../src/state/types.gen";
import { CHAT, type MemoryStore, readyStore, SESSION, startTurn, summary } from "./memory-store";
import { open, type Page } from "./page";

const RUN = "globalThis.__owned=1";
const MESSAGES: string[] = [
  `<script>${RUN}</script>`,
  `<script src="https://evil.example/x.js"></script>`,
  `<img src=x onerror="${RUN}">`,
  `<img src="https://evil.example/pixel.png">`,
  `<svg onload="${RUN}"><circle r=1></svg>`,
  `<svg><script>${RUN}</script></svg>`,
  `<svg><animate onbegin="${RUN}" attributeName=x dur=1s></svg>`,
  `<svg><foreignObject><iframe srcdoc="<script>${RUN}</script>"></iframe></foreignObject></svg>`,
  `<math><mtext><table><mglyph><style><img src=x onerror=${RUN}>`,
  `<math href="javascript:${RUN}">click</math>`,
  `<iframe src="javascript:${RUN}"></iframe>`,
  `<iframe src="https://evil.example"></iframe>`,
  `<object data="https://evil.example/x.swf"></object>`,
  `<embed src="https://evil.example/x">`,
  `<link rel=stylesheet href="https://evil.example/x.css">`,
  `<style>@import "https://evil.example/x.css"; * { display: none }</style>`,
  `<body onload="${RUN}">`,
  `<details open ontoggle="${RUN}"><summary>x</summary></details>`,
  `<video><source onerror="${RUN}"></video>`,
  `<audio src="https://evil.example/a.mp3" autoplay></audio>`,
  `<form action="https://evil.example"><input name=a><button>go</button></form>`,
  `<input autofocus onfocus="${RUN}">`,
  `<base href="https://evil.example/">`,
  `<meta http-equiv=refresh content="0;url=https://evil.example">`,
  `<a href="javascript:${RUN}">x</a>`,
  `<template><script>${RUN}</script></template>`,
  `<xmp></xmp><script>${RUN}</script>`,
  `<noscript><p title="</noscript><img src=x onerror=${RUN}>">`,
  `<!--><script>${RUN}</script>-->`,
  `<![CDATA[<script>${RUN}</script>]]>`,
  `<div style="background:url(https://evil.example/x)">x</div>`,
  `<x-y onclick="${RUN}">z</x-y>`,
  `</div></div></section><script>${RUN}</script>`,
  `"><script>${RUN}</script>`,
  `' onmouseover='${RUN}`,
  `[click](javascript:${RUN})`,
  `[click](JaVaScRiPt:${RUN})`,
  `[click](java\tscript:${RUN})`,
  `[click](\u0001javascript:${RUN})`,
  `[click](&#106;avascript:${RUN})`,
  `[click](&#x6A;&#x61;vascript:${RUN})`,
  `[click](javascript&colon;${RUN})`,
  `[click](java&NewLine;script:${RUN})`,
  `[click](vbscript:${RUN})`,
  `[click](data:text/html,<script>${RUN}</script>)`,
  `[click](data:text/html;base64,PHNjcmlwdD4xPC9zY3JpcHQ+)`,
  `[click](blob:https://evil.example/1)`,
  `[click](file:///etc/passwd)`,
  `[click](//evil.example/x)`,
  `[click](\\\\evil.example\\x)`,
  `[click](/\\evil.example)`,
  `[click](view-source:https://evil.example)`,
  `[click](https://good.example "title\\" onclick=\\"${RUN}")`,
  `<javascript:${RUN}>`,
  `![x](https://evil.example/pixel.png)`,
  `![x](javascript:${RUN})`,
  `![x](data:image/svg+xml,<svg onload=${RUN}>)`,
  `![x](data:image/png;base64,iVBORw0KGgo=)`,
  `[ref]\n\n[ref]: javascript:${RUN}`,
  `![ref]\n\n[ref]: https://evil.example/p.png`,
  `\`\`\`html\n<script>${RUN}</script>\n\`\`\``,
  `\`\`\`"><script>${RUN}</script>\nx\n\`\`\``,
  `\`\`\`constructor\nx\n\`\`\``,
  `\`\`\`__proto__\nx\n\`\`\``,
  `[constructor] [__proto__] [toString]`,
  `| <script>${RUN}</script> | b |\n|---|---|\n| <img src=x onerror=${RUN}> | [x](javascript:${RUN}) |`,
  `# <svg onload=${RUN}>`,
  `> <script>${RUN}</script>`,
  `- <iframe src="https://evil.example"></iframe>`,
  `{{constructor.constructor("${RUN}")()}}`,
  `\${${RUN}}`,
  `$\\href{javascript:${RUN}}{x}$`,
  "\u202etxt.exe\u202c and \u2066hidden\u2069",
  "zero\u200bwidth\u2060and\ufeffmarks",
  "\u001b[31mred\u001b[0m \u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007 \u001b]0;title\u0007",
  "\u001b[2J\u001b[H\u0007\u0000\u0008\u007f",
  ">".repeat(3000),
  "[".repeat(5000),
  "![".repeat(3000),
  "*a ".repeat(3000),
  "_".repeat(5000),
  "`".repeat(4999),
  "- ".repeat(2000),
  "<".repeat(5000),
  "a".repeat(100_000),
  `${"\u0301".repeat(2000)}`,
  "&amp;".repeat(3000),
  "|".repeat(3000),
  "\ud800 lone surrogate",
];

const FORBIDDEN =
  "script, iframe, object, embed, link, meta, base, form:not(.prompt), style, video, source, svg:not(.icon), math, foreignObject, template";

/** What must hold of everything that a view has drawn. */
function expectHarmless(page: Page, what: string): void {
  const body = page.find(".root");
  expect(
    [...body.querySelectorAll(FORBIDDEN)].map((element) => element.outerHTML.slice(0, 200)),
    what,
  ).toEqual([]);
  for (const element of body.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      expect(name.startsWith("on"), `${what}: ${name}=${value}`).toEqual(false);
      if (name === "href")
        expect(value, what).toMatch(/^(https?:\/\/|mailto:|(?![a-z][a-z0-9+.-]*:|\/\/|[\\])[^\\]*$)/i);
      if (name === "src") expect(value, what).toMatch(/^data:(image\/(png|jpeg|gif|webp)|audio\/[a-z]+);base64,/);
      if (name === "style") expect(value, what).not.toMatch(/url|@import|expression/i);
      expect(["srcdoc", "action", "formaction", "ping", "background", "poster", "srcset", "data"], what).not.toContain(
        name,
      );
    }
    if (element.localName === "a") expect(element.getAttribute("rel"), what).toContain("noopener");
  }
  expect((globalThis as Record<string, unknown>).__owned, what).toEqual(undefined);
}

type Field = (store: MemoryStore, text: string) => void;

const part = (store: MemoryStore, one: unknown) =>
  store.apply(CHAT, { type: "chat/responsePart", turnId: "t1", part: one as ResponsePart });

function call(store: MemoryStore, more: { start?: object; ready?: object; complete?: object }): void {
  const ids = { turnId: "t1", toolCallId: "c1" };
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
  "message of the agent": (store, text) => part(store, { kind: "markdown", id: "p1", content: text }),
  thought: (store, text) => part(store, { kind: "reasoning", id: "p1", content: text }),
  "message of the user": (store, text) => part(store, { kind: "x-agentnb/userMessage", id: "p1", content: text }),
  notification: (store, text) => part(store, { kind: "systemNotification", content: text }),
  "notification in markdown": (store, text) => part(store, { kind: "systemNotification", content: { markdown: text } }),
  plan: (store, text) =>
    part(store, {
      kind: "x-agentnb/plan",
      id: "p1",
      entries: [{ content: text, status: text.slice(0, 50), priority: text }],
    }),
  "unknown update": (store, text) =>
    part(store, { kind: "x-agentnb/raw", id: "p1", name: text, payload: { [text]: text } }),
  "unknown part": (store, text) => part(store, { kind: text, text }),
  "content reference": (store, text) => part(store, { kind: "contentRef", uri: text, contentType: text }),
  "resource link": (store, text) =>
    part(store, {
      kind: "x-agentnb/content",
      id: "p1",
      block: { type: "resource_link", name: text, title: text, uri: text, description: text },
    }),
  "text resource": (store, text) =>
    part(store, { kind: "x-agentnb/content", id: "p1", block: { type: "resource", resource: { uri: text, text } } }),
  "picture data": (store, text) =>
    part(store, {
      kind: "x-agentnb/content",
      id: "p1",
      block: { type: "image", mimeType: "image/png", data: text, uri: text },
    }),
  "picture type": (store, text) =>
    part(store, { kind: "x-agentnb/content", id: "p1", block: { type: "image", mimeType: text, data: "AAAA" } }),
  "picture in vectors": (store, text) =>
    part(store, {
      kind: "x-agentnb/content",
      id: "p1",
      block: {
        type: "image",
        mimeType: "image/svg+xml",
        data: btoa(unescape(encodeURIComponent(text.replace(/[\ud800-\udfff]/g, "")))),
      },
    }),
  "sound data": (store, text) =>
    part(store, { kind: "x-agentnb/content", id: "p1", block: { type: "audio", mimeType: "audio/wav", data: text } }),
  "content type": (store, text) =>
    part(store, { kind: "x-agentnb/content", id: "p1", block: { type: text, data: text } }),
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
    const terminal = { id: "x", command: text, output: text, signal: text, exited: true, truncated: false };
    store.apply(CHAT, { type: "x-agentnb/terminalOpened", terminal });
    const details = { content: [{ type: "terminal", terminalId: "x" }] };
    call(store, { start: { details }, ready: { confirmed: "not-needed" } });
  },
  "permission title and reason": (store, text) =>
    call(store, { ready: { confirmationTitle: text, invocationMessage: { markdown: text } } }),
  "name of an option": (store, text) =>
    call(store, { ready: { options: [{ id: text, label: text, kind: text, optionKind: text }] } }),
  error: (store, text) =>
    store.apply(CHAT, { type: "chat/error", turnId: "t1", error: { errorType: text, message: text, stack: text } }),
  "stop reason": (store, text) => store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1", stopReason: text }),
  "queued message": (store, text) =>
    store.apply(CHAT, {
      type: "chat/pendingMessageSet",
      kind: "queued",
      id: "q1",
      message: { text, origin: { kind: "user" } },
    }),
  "attachment of the user": (store, text) => {
    const attachments = [
      { type: "resource", label: text, uri: text },
      { type: "embeddedResource", label: text, contentType: "image/png", data: text },
    ];
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1" });
    const message = { text, origin: { kind: "user" }, attachments };
    store.apply(CHAT, { type: "chat/turnStarted", turnId: "t2", message } as Action);
  },
  "name of the agent": (store, text) => {
    const agent = { provider: "eliza", displayName: text, description: text, models: [] };
    store.root.value = { agents: [agent, agent], sessions: [summary(SESSION, text)] };
  },
  "commands and modes": (store, text) => {
    const state = store.session(SESSION);
    if (!state.value) return;
    state.value = {
      ...state.value,
      commands: [{ name: text, description: text }],
      modes: { currentModeId: text, availableModes: [{ id: text, name: text }] },
      contextUsage: { used: 1, size: 2, cost: { amount: 1, currency: text } },
      agentProcess: { state: "failed", message: text },
    };
  },
};

const IN_CHAT = { kind: "chat" } as const;
const IN_TURN = { kind: "turn", channel: CHAT, turnId: "t1" } as const;
const ONLY_IN_CHAT = new Set(["queued message", "attachment of the user", "name of the agent", "commands and modes"]);

describe.each(Object.entries(FIELDS))("hostile text in: %s", (name, fill) => {
  test(`nothing runs or loads from outside (${MESSAGES.length} messages)`, async () => {
    for (const [index, text] of MESSAGES.entries()) {
      const store = readyStore();
      if (name !== "commands and modes") startTurn(store, "t1", "Hi");
      fill(store, text);
      const page = open(store, index % 2 === 0 || ONLY_IN_CHAT.has(name) ? IN_CHAT : IN_TURN);
      for (const fold of page.all(".fold-head[aria-expanded=false]")) fold.click();
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
      expectHarmless(page, `${name}: ${JSON.stringify(text.slice(0, 120))}`);
      page.unmount();
    }
  }, 60_000);
});

test("marks that hide or reorder are written out where trust is at stake", () => {
  const store = readyStore();
  startTurn(store, "t1", "Hi");
  call(store, {
    start: { details: { kind: "execute" }, displayName: "ls\u202e" },
    ready: { toolInput: "rm \u202egpj.x\u202c -rf\u200b", options: [{ id: "1", label: "No\u200b", kind: "approve" }] },
  });
  const page = open(store, { kind: "chat" });
  expect(page.find(".command-box").textContent).toContain("rm ⟨U+202E⟩gpj.x⟨U+202C⟩ -rf⟨U+200B⟩");
  expect(page.find(".permission-options button").textContent).toEqual("No⟨U+200B⟩");
});

test("raw HTML in a message is shown as the text it is", () => {
  const store = readyStore();
  startTurn(store, "t1", "Hi");
  part(store, { kind: "markdown", id: "p1", content: `Look: <b>bold</b>\n\n<div onclick="x">block</div>` });
  expect(open(store, { kind: "chat" }).find(".answer").textContent).toEqual(
    `Look: <b>bold</b><div onclick="x">block</div>`,
  );
});

test("a page full of hostile structure is drawn within its time", () => {
  for (const text of [
    "[".repeat(50_000),
    "*a_".repeat(30_000),
    ">".repeat(50_000),
    "- ".repeat(30_000),
    "<a ".repeat(30_000),
    "`a".repeat(30_000),
    "![](".repeat(15_000),
    "| a ".repeat(20_000),
  ]) {
    const store = readyStore();
    startTurn(store, "t1", "Hi");
    part(store, { kind: "markdown", id: "p1", content: text });
    const start = performance.now();
    open(store, { kind: "chat" }).unmount();
    expect(performance.now() - start, text.slice(0, 10)).toBeLessThan(3000);
  }
});
