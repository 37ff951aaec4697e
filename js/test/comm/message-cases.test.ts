/**
 * The message cases that pytest runs too (`tests/cases/messages`): the page sends the messages of the cases, and its
 * guards accept and reject the same messages as the kernel's structs.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Client, type Wire } from "../../src/comm/client.ts";
import { isFlush, isPong, isText, read, wireName } from "../../src/comm/exchange.ts";
import { isAnswer, type RequestName } from "../../src/state/answers.ts";
import { ANSWERS } from "../../src/state/requests.gen.ts";
import { ROOT } from "../../src/view/identity.ts";

type Json = Record<string, unknown>;

interface Case {
  description: string;
  direction: "toKernel" | "toPage";
  method: string | null;
  valid: boolean;
  reads?: string | null;
  message: Json;
}

interface Said extends Json {
  method: string;
  id?: number;
  params: { action: never; channel: string };
}

const FOLDER = resolve(import.meta.dirname, "../../../tests/cases/messages");
const CLIENT = "f2c7b8a4-1d3e-4f60-8a9b-7c6d5e4f3a2b";
const SESSION = "eliza:/11111111-2222-4333-8444-555555555555";
const CHAT = `${SESSION}/chat`;
const HOST = "3d6a1f0e-52c7-4b98-a1d4-6e0f9b7c2a15";
const CHAT_STATE = { resource: CHAT, title: "", status: 1, modifiedAt: "1970-01-01T00:00:00.000Z", turns: [] };

const cases = new Map(
  readdirSync(FOLDER)
    .filter((file) => file.endsWith(".json"))
    .sort()
    .map((file) => [file.replace(/\.json$/, ""), JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as Case]),
);
const toPage = [...cases].filter(([, one]) => one.direction === "toPage");
const toKernel = [...cases].filter(([, one]) => one.direction === "toKernel" && one.valid);

class Kernel implements Wire {
  messages: Said[] = [];
  client: Client;
  #listeners = new Set<(message: unknown) => void>();

  constructor() {
    this.client = new Client(this);
  }

  send(message: unknown): void {
    this.messages.push(structuredClone(message) as Said);
  }

  on(_event: "msg:custom", listener: (message: unknown) => void): void {
    this.#listeners.add(listener);
  }

  off(_event: "msg:custom", listener: (message: unknown) => void): void {
    this.#listeners.delete(listener);
  }

  /** Delivers the message as the case has it, with the client's id for the case's. */
  async tell(message: unknown): Promise<void> {
    const mine = JSON.parse(JSON.stringify(message).replaceAll(CLIENT, this.client.clientId));
    for (const listener of this.#listeners) listener(mine);
    await vi.advanceTimersByTimeAsync(0);
  }

  async live(): Promise<this> {
    const root = { resource: ROOT, state: { agents: [] }, fromSeq: 1 };
    const chat = { resource: CHAT, state: CHAT_STATE, fromSeq: 3 };
    const snapshots = this.client.hostId.value === undefined ? [root] : [root, chat];
    await this.#answer({ protocolVersion: 3, hostId: HOST, snapshots, missing: [] });
    this.client.chat(CHAT);
    await this.#answer({ snapshot: chat });
    return this;
  }

  async #answer(result: unknown): Promise<void> {
    await this.tell({ jsonrpc: "2.0", v: 3, to: CLIENT, id: this.messages.at(-1)?.id, result });
  }

  /** Returns the page's last message with this method, as a case would write it. */
  last(method: string): Json {
    const match = this.messages.findLast((message) => message.method === wireName(method));
    return JSON.parse(JSON.stringify(match ?? null).replaceAll(this.client.clientId, CLIENT)) as Json;
  }
}

const flush = (number: number, index: number, first: number) => ({
  jsonrpc: "2.0",
  v: 3,
  to: CLIENT,
  method: "x-agentnb/actions",
  params: {
    flush: number,
    envelopes: [
      { channel: CHAT, first, index, action: { type: "chat/delta", turnId: "t", partId: "p", content: "…" } },
    ],
  },
});

/** Makes the page send each case's message; it sends the cases that are missing here by `request`. */
const SAYING: Record<string, (kernel: Kernel, message: Said) => unknown> = {
  initialize: () => {},
  subscribe: async (kernel) => (await kernel.live()).client.chat(CHAT),
  "dispatch-action": async (kernel, { params }) => (await kernel.live()).client.dispatch(params.channel, params.action),
  ack: async (kernel) => (await kernel.live()).tell(flush(7, 6, 4)),
  resync: async (kernel) => (await kernel.live()).tell(flush(1, 9, 9)),
  visibility: async (kernel) => (await kernel.live()).client.view("view").setVisible(true),
  draft: async (kernel, { params }) => (await kernel.live()).client.notify?.("draft", params),
  leave: async (kernel) => (await kernel.live()).client.dispose(),
  ping: async (kernel) => {
    await kernel.live();
    await vi.advanceTimersByTimeAsync(10_000);
  },
};

const GUARDS: Record<string, (value: unknown) => boolean> = Object.fromEntries([
  ...Object.keys(ANSWERS).map((method) => [
    wireName(method),
    (value: unknown) => isAnswer(method as RequestName, value),
  ]),
  ["x-agentnb/actions", isFlush],
  ["x-agentnb/text", isText],
  ["x-agentnb/pong", isPong],
]);

/** The method as the page's own code writes it. */
const short = (method: unknown): string => String(method).replace("x-agentnb/", "");

let kernel: Kernel;
let logged: string[];
beforeEach(() => {
  vi.useFakeTimers();
  logged = [];
  vi.spyOn(console, "warn").mockImplementation((text) => void logged.push(text));
  kernel = new Kernel();
});
afterEach(async () => {
  kernel.client.dispose();
  await vi.advanceTimersByTimeAsync(0);
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("messages from the page", () => {
  const notifications = toKernel.filter(([name, one]) => one.message.id === undefined && !(name in SAYING));
  const methods = new Set(Object.keys(SAYING).map((name) => cases.get(name)?.method));

  test.each(Object.entries(SAYING))("%s", async (name, say) => {
    const { message } = cases.get(name) as Case;
    await say(kernel, message as Said);
    const { id: _, ...sent } = kernel.last(short(message.method));
    const { id: __, ...expected } = message;
    expect(sent).toEqual(expected);
  });

  test.each(toKernel.filter(([name, one]) => one.message.id !== undefined && !(name in SAYING)))(
    "%s, as a request",
    (_name, { message }) => {
      void kernel.client.request(short(message.method) as RequestName, message.params as never).catch(() => {});
      const sent = kernel.last(short(message.method));
      expect({ ...sent, id: 0 }).toEqual({ ...message, id: 0 });
    },
  );

  test("include every notification that the kernel accepts", () => {
    expect(notifications.map(([, one]) => one.method).filter((method) => !methods.has(method))).toEqual([]);
  });
});

describe("messages to the page", () => {
  test.each(toPage)("%s is read as the expected kind", (_name, { message, reads }) => {
    expect(read(message, CLIENT)?.kind ?? null).toBe(reads);
  });

  test.each(toPage.filter(([, one]) => one.method !== null && one.method in GUARDS && one.reads !== "error"))(
    "%s is valid or invalid as in the kernel",
    (_name, { message, method, valid, reads }) => {
      if (reads === null) return expect(valid).toBe(false);
      expect(GUARDS[method as string]?.(message.result ?? message.params)).toBe(valid);
    },
  );

  test.each(toPage)("%s leaves a gap only when unreadable", async (name, { message, method, valid }) => {
    await kernel.live();
    await kernel.tell(message);
    await vi.advanceTimersByTimeAsync(3_000);
    if (kernel.messages.at(-1)?.method === "reconnect") await kernel.live();
    // An unreadable flush or an incomplete state leaves a gap, which the view shows.
    const isGap = (/actions|text$/.test(method ?? "") && !valid) || name === "actions-with-gap";
    expect([kernel.client.connection.value, typeof kernel.client.chat(CHAT).value]).toEqual([
      isGap ? "gap" : "live",
      "object",
    ]);
  });

  test("an unknown action changes no state but is acknowledged", async () => {
    await kernel.live();
    const before = kernel.client.chat(CHAT).value;
    await kernel.tell(cases.get("actions-of-unknown-type")?.message);
    expect(kernel.client.chat(CHAT).value).toBe(before);
    expect(kernel.last("ack").params).toEqual({ flush: 1, seen: { [ROOT]: 1, [CHAT]: 4 } });
  });

  test("an unknown notification is logged only once", async () => {
    await kernel.live();
    for (let i = 0; i < 2; i++) await kernel.tell(cases.get("to-unknown-notification")?.message);
    expect(logged).toEqual(['[agentnb] The kernel sent "flown", which this page does not understand.']);
  });
});
