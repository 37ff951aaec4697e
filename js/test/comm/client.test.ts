/** Tests the client against a simulated kernel: the actions that it applies or drops, its requests and its messages. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { Client, type Wire } from "../../src/comm/client.ts";
import type { ChatState } from "../../src/state/types.gen.ts";
import { ROOT } from "../../src/view/identity.ts";

const CHAT = "eliza:/1/chat";

interface Said {
  id?: number;
  clientId: string;
  method: string;
  params: Record<string, unknown>;
}

type Listener = (message: unknown) => void;

/** The kernel's end of the wire: records the page's messages, and sends the test's. */
class Kernel implements Wire {
  messages: Said[] = [];
  #listeners = new Set<Listener>();

  send(message: unknown): void {
    const received = structuredClone(message) as Said;
    this.messages.push({ ...received, method: received.method.replace(/^x-agentnb\//, "") });
  }

  on(_event: "msg:custom", listener: Listener): void {
    this.#listeners.add(listener);
  }

  off(_event: "msg:custom", listener: Listener): void {
    this.#listeners.delete(listener);
  }

  tell(message: Record<string, unknown>, to = this.messages[0]?.clientId, buffers: DataView[] = []): void {
    const named = message?.method === undefined ? message : { ...message, method: `x-agentnb/${message.method}` };
    const bytes = buffers.map((one) => new Uint8Array(one.buffer as ArrayBuffer, one.byteOffset, one.byteLength));
    const coded = bytes.map((one) => btoa(String.fromCharCode(...one)));
    const whole = coded.length ? { ...named, result: { ...(named.result as object), _buffers: coded } } : named;
    for (const listener of this.#listeners) listener({ jsonrpc: "2.0", v: 3, to, ...whole });
  }

  last(method: string): Said {
    const match = this.messages.findLast((message) => message.method === method);
    if (!match) throw new Error(`The page never said ${method}.`);
    return match;
  }

  async answer(method: string, result: unknown): Promise<void> {
    await this.#reply({ id: this.last(method).id, result });
  }

  /** Answers the last subscription with an error: the channel does not exist. */
  async missing(): Promise<void> {
    await this.#reply({ id: this.last("subscribe").id, error: { code: -32001, message: "There is no channel." } });
  }

  async #reply(message: Record<string, unknown>): Promise<void> {
    this.tell(message);
    for (let tick = 0; tick < 4; tick += 1) await Promise.resolve();
  }

  flush(flush: number, envelopes: unknown[]): void {
    this.tell({ method: "actions", params: { flush, envelopes } });
  }
}

const chatState = (text: string): ChatState => ({
  resource: CHAT,
  title: "",
  status: 8,
  modifiedAt: "",
  turns: [],
  activeTurn: {
    id: "t",
    message: { text: "hi", origin: { kind: "user" } },
    responseParts: [{ kind: "markdown", id: "p1", content: text }],
  },
});

const delta = (index: number, content: string, more: object = {}) => ({
  channel: CHAT,
  index,
  action: { type: "chat/delta", turnId: "t", partId: "p1", content },
  ...more,
});

const textOf = (client: Client): string => {
  const part = client.chat(CHAT).value?.activeTurn?.responseParts[0];
  return part?.kind === "markdown" ? part.content : "?";
};

const INTRODUCED = { protocolVersion: 3, hostId: "h1", snapshots: [], missing: [] };

let open: Client[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const client of open) client.dispose();
  open = [];
});

async function live(): Promise<{ kernel: Kernel; client: Client }> {
  const kernel = new Kernel();
  const client = new Client(kernel);
  open.push(client);
  await kernel.answer("initialize", {
    ...INTRODUCED,
    snapshots: [{ resource: ROOT, state: { agents: [] }, fromSeq: 1 }],
  });
  client.chat(CHAT);
  await kernel.answer("subscribe", { snapshot: { resource: CHAT, state: chatState("Hello"), fromSeq: 3 } });
  return { kernel, client };
}

describe("handshake", () => {
  test("offers its protocol version and is live after the kernel's answer", async () => {
    const { kernel, client } = await live();
    expect([kernel.messages[0]?.method, kernel.messages[0]?.params.protocolVersions, client.connection.value]).toEqual([
      "initialize",
      [3],
      "live",
    ]);
  });

  test("shows the state of a snapshot", async () => {
    const { client } = await live();
    expect(textOf(client)).toBe("Hello");
  });

  test.each([[3_600_000], [-3_600_000]])("measures a kernel clock that is %i ms ahead", async (skew) => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_700_000_000_000 });
    const { kernel, client } = await live();
    expect(client.ahead.value).toBe(0);
    kernel.tell({ method: "pong", params: { hostId: "h2" } });
    const time = Date.now() + skew;
    await kernel.answer("reconnect", { ...INTRODUCED, hostId: "h2", time });
    expect(client.ahead.value).toBe(skew);
  });

  test("drops the old state when a different kernel answers", async () => {
    const { kernel, client } = await live();
    kernel.tell({ method: "pong", params: { hostId: "h2" } });
    const root = { resource: ROOT, state: { agents: [] }, fromSeq: 0 };
    await kernel.answer("reconnect", { ...INTRODUCED, hostId: "h2", snapshots: [root] });
    expect([client.hostId.value, client.chat(CHAT).value]).toEqual(["h2", undefined]);
  });
});

describe("versions", () => {
  const refusal = { code: -32010, message: "This kernel speaks version 4 to 5. Reload the page." };

  test("stores the refusal of a kernel that supports only newer versions", async () => {
    const kernel = new Kernel();
    const client = new Client(kernel);
    open.push(client);
    kernel.tell({ v: 5, id: kernel.last("initialize").id, error: refusal });
    await new Promise((done) => setTimeout(done));
    expect([client.refusal.value, client.connection.value]).toEqual([refusal.message, "connecting"]);
  });

  test.each([
    [7, "Reload the page."],
    [0, "restart it."],
  ])("refuses a kernel that answers with version %i and explains the fix", async (version, help) => {
    const kernel = new Kernel();
    const client = new Client(kernel);
    open.push(client);
    await kernel.answer("initialize", { ...INTRODUCED, protocolVersion: version });
    expect([client.refusal.value?.endsWith(help), client.connection.value]).toEqual([true, "connecting"]);
  });

  test("clears the refusal when a kernel with a supported version answers", async () => {
    vi.useFakeTimers();
    const kernel = new Kernel();
    const client = new Client(kernel);
    open.push(client);
    await kernel.answer("initialize", { ...INTRODUCED, protocolVersion: 7 });
    await vi.advanceTimersByTimeAsync(3_000);
    await kernel.answer("initialize", INTRODUCED);
    expect([client.refusal.value, client.connection.value]).toEqual([undefined, "live"]);
  });
});

describe("envelopes", () => {
  test("are applied only once when sent again", async () => {
    const { kernel, client } = await live();
    kernel.flush(1, [delta(4, " you")]);
    kernel.flush(2, [delta(4, " you"), delta(5, "!")]);
    expect(textOf(client)).toBe("Hello you!");
  });

  test("a flush is acknowledged with the latest index of each channel", async () => {
    const { kernel } = await live();
    kernel.flush(7, [delta(6, "abc", { first: 4 })]);
    expect(kernel.last("ack").params).toEqual({ flush: 7, seen: { [ROOT]: 1, [CHAT]: 6 } });
  });

  test("an index gap triggers a resync, and the envelope is not applied", async () => {
    const { kernel, client } = await live();
    kernel.flush(1, [delta(9, "late")]);
    expect([textOf(client), kernel.last("resync").params]).toEqual(["Hello", { seen: { [CHAT]: 3 } }]);
  });

  test("overlapping merged deltas trigger a resync and are not applied twice", async () => {
    const { kernel, client } = await live();
    kernel.flush(1, [delta(4, " you")]);
    kernel.flush(2, [delta(6, " you, too", { first: 4 })]);
    expect([textOf(client), kernel.last("resync").params]).toEqual(["Hello you", { seen: { [CHAT]: 4 } }]);
  });

  test("messages for another client are ignored", async () => {
    const { kernel, client } = await live();
    kernel.tell({ method: "actions", params: { flush: 1, envelopes: [delta(4, "no")] } }, "somebody else");
    expect(textOf(client)).toBe("Hello");
  });

  test.each([
    null,
    7,
    "text",
    [],
    {},
    { v: 3, method: "actions" },
    { v: 2, method: "actions", params: { flush: "x" } },
  ])("an invalid message (%j) is ignored", async (message) => {
    const { kernel, client } = await live();
    for (const odd of [message, { ...(message as object), to: kernel.messages[0]?.clientId }])
      kernel.tell(odd as never);
    kernel.flush(1, [delta(4, " you")]);
    expect(textOf(client)).toBe("Hello you");
  });
});

describe("write-ahead", () => {
  const cancel = { type: "chat/turnCancelled", turnId: "t" } as const;

  test("an action is applied at once and sent to the kernel", async () => {
    const { kernel, client } = await live();
    client.dispatch(CHAT, cancel);
    expect([client.chat(CHAT).value?.activeTurn, kernel.last("dispatchAction").params.action]).toEqual([
      undefined,
      cancel,
    ]);
  });

  test("the kernel's echo replaces the local action", async () => {
    const { kernel, client } = await live();
    client.dispatch(CHAT, cancel);
    const origin = {
      clientId: kernel.messages[0]?.clientId,
      clientSeq: kernel.last("dispatchAction").params.clientSeq,
    };
    kernel.flush(1, [{ channel: CHAT, index: 4, action: cancel, origin }]);
    expect(client.chat(CHAT).value?.turns.map((turn) => turn.state)).toEqual(["cancelled"]);
  });

  test("a rejected action is rolled back", async () => {
    const { kernel, client } = await live();
    client.dispatch(CHAT, cancel);
    const origin = {
      clientId: kernel.messages[0]?.clientId,
      clientSeq: kernel.last("dispatchAction").params.clientSeq,
    };
    kernel.flush(1, [{ channel: CHAT, index: 3, action: cancel, origin, rejectionReason: "no" }]);
    expect(client.chat(CHAT).value?.activeTurn?.id).toBe("t");
  });

  test("a rejection keeps the action and the reason until dismissed", async () => {
    const { kernel, client } = await live();
    client.dispatch(CHAT, cancel);
    const origin = {
      clientId: kernel.messages[0]?.clientId,
      clientSeq: kernel.last("dispatchAction").params.clientSeq,
    };
    const no = { channel: CHAT, index: 3, action: { type: "x-agentnb/unreadable" }, origin, rejectionReason: "No." };
    for (const number of [1, 2]) kernel.flush(number, [no]);
    expect(client.refusals.value).toEqual([{ id: 1, channel: CHAT, action: cancel, reason: "No." }]);
    client.dismiss(1);
    expect(client.refusals.value).toEqual([]);
  });

  test("a repeat of an accepted action is not reported as rejected", async () => {
    const { kernel, client } = await live();
    client.dispatch(CHAT, cancel);
    const origin = {
      clientId: kernel.messages[0]?.clientId,
      clientSeq: kernel.last("dispatchAction").params.clientSeq,
    };
    kernel.flush(1, [
      { channel: CHAT, index: 3, action: cancel, origin, rejectionReason: "It was accepted before.", repeated: true },
    ]);
    expect([client.refusals.value, client.chat(CHAT).value?.activeTurn?.id]).toEqual([[], "t"]);
  });

  test("unconfirmed actions are reported when another kernel answers", async () => {
    const { kernel, client } = await live();
    client.dispatch(CHAT, cancel);
    kernel.tell({ method: "pong", params: { hostId: "h2" } });
    await kernel.answer("reconnect", { ...INTRODUCED, hostId: "h2" });
    expect(client.refusals.value.map(({ action }) => action)).toEqual([cancel]);
  });

  test("unconfirmed actions are reported when the widget closes; text stays", async () => {
    const { client } = await live();
    client.dispatch(CHAT, cancel);
    client.dispose();
    expect([client.refusals.value.map(({ action }) => action), textOf(client)]).toEqual([[cancel], "Hello"]);
  });

  test("unconfirmed actions are sent again after the kernel forgot the page", async () => {
    const { kernel, client } = await live();
    client.dispatch(CHAT, cancel);
    kernel.tell({ method: "unknownClient", params: {} });
    await kernel.answer("reconnect", { ...INTRODUCED, actions: [] });
    expect(kernel.messages.filter((message) => message.method === "dispatchAction").length).toBe(2);
  });
});

describe("a gap", () => {
  const broken = { method: "actions", params: { flush: 1, envelopes: [{ channel: CHAT, index: "x" }] } };

  test("starts at an unreadable message and ends with the resync's snapshots", async () => {
    const { kernel, client } = await live();
    kernel.tell(broken);
    expect([client.connection.value, Object.keys(client.gaps.value)]).toEqual(["gap", [""]]);
    expect(kernel.last("resync").params).toEqual({ seen: { [ROOT]: 0, [CHAT]: 0 } });
    kernel.tell({ method: "pong", params: { hostId: "h1", indexes: { [CHAT]: 9 } } });
    expect(client.connection.value).toBe("gap");
    const snapshots = [{ resource: CHAT, state: chatState("Hello again"), fromSeq: 9 }];
    kernel.tell({ method: "actions", params: { flush: 2, envelopes: [], snapshots } });
    expect([client.connection.value, textOf(client)]).toEqual(["live", "Hello again"]);
  });

  test("stays when the message repeats, with only one resync request", async () => {
    const { kernel, client } = await live();
    for (let times = 0; times < 3; times += 1) kernel.tell(broken);
    expect([client.connection.value, kernel.messages.filter(({ method }) => method === "resync").length]).toEqual([
      "gap",
      1,
    ]);
  });

  test("names the lost part of a recovered state until the user accepts it", async () => {
    const { kernel, client } = await live();
    const say = (flush: number, gap: string) => {
      const snapshots = [{ resource: CHAT, state: chatState("x"), fromSeq: 3 + flush, gap }];
      kernel.tell({ method: "actions", params: { flush, envelopes: [], snapshots } });
    };
    say(1, "Entry 2 is lost.");
    expect([client.connection.value, client.gaps.value]).toEqual(["gap", { [CHAT]: "Entry 2 is lost." }]);
    client.acceptGap(CHAT);
    say(2, "Entry 2 is lost.");
    expect([client.connection.value, client.gaps.value]).toEqual(["live", {}]);
    say(3, "Entry 3 is lost, too.");
    expect(client.connection.value).toBe("gap");
  });

  test.each([
    [CHAT, "may be missing"],
    ["eliza:/never/chat", "cannot be shown"],
  ])("is reported when the kernel no longer has %s: %s", async (uri, sentence) => {
    const { kernel, client } = await live();
    kernel.tell({ method: "unknownClient", params: {} });
    await kernel.answer("reconnect", { ...INTRODUCED, missing: [uri] });
    expect([client.connection.value, client.gaps.value[uri]?.includes(sentence)]).toEqual(["gap", true]);
  });
});

describe("a closed session", () => {
  const summary = { resource: "eliza:/1", provider: "eliza", title: "", status: 1, createdAt: "", modifiedAt: "" };

  test("is subscribed to again when it reopens, without a gap", async () => {
    const { kernel, client } = await live();
    const root = (index: number, action: object) => kernel.flush(index, [{ channel: ROOT, index, action }]);
    root(2, { type: "x-agentnb/sessionSet", summary });
    root(3, { type: "x-agentnb/sessionRemoved", resource: "eliza:/1" });
    const before = kernel.messages.filter(({ method }) => method === "subscribe").length;
    root(4, { type: "x-agentnb/sessionSet", summary });
    expect(kernel.last("subscribe").params).toEqual({ channel: CHAT });
    await kernel.answer("subscribe", { snapshot: { resource: CHAT, state: chatState("Back"), fromSeq: 9 } });
    expect([textOf(client), client.connection.value]).toEqual(["Back", "live"]);
    expect(kernel.messages.filter(({ method }) => method === "subscribe").length).toBe(before + 1);
  });
});

describe("leaving", () => {
  test.each([
    ["the page is closed", () => window.dispatchEvent(new Event("pagehide"))],
    ["the widget is closed", (client: Client) => client.dispose()],
  ])("sends a leave message when %s", async (_how, leave) => {
    const { kernel, client } = await live();
    leave(client);
    expect(kernel.messages.at(-1)?.method).toBe("leave");
  });

  test("pending and new requests fail when the widget is closed", async () => {
    const { client } = await live();
    const before = client.request("listSettings", {});
    client.dispose();
    await expect(before).rejects.toThrow("The widget was closed.");
    await expect(client.request("listSettings", {})).rejects.toThrow("The widget was closed.");
  });

  test("pings the kernel when the browser restores the page", async () => {
    const { kernel } = await live();
    window.dispatchEvent(new Event("pagehide"));
    window.dispatchEvent(Object.assign(new Event("pageshow"), { persisted: true }));
    expect(kernel.messages.at(-1)?.method).toBe("ping");
  });
});

describe("views", () => {
  test("the client is visible while any of its views is visible", async () => {
    const { kernel, client } = await live();
    const [one, two] = [client.view("1"), client.view("2")];
    one.setVisible(true);
    two.setVisible(true);
    one.close();
    two.setVisible(false);
    expect(kernel.messages.filter((s) => s.method === "visibility").map((s) => s.params.visible)).toEqual([
      true,
      false,
    ]);
  });

  test("visibility is sent again after the kernel answers initialize", async () => {
    const kernel = new Kernel();
    const client = new Client(kernel);
    open.push(client);
    client.view("1").setVisible(true);
    kernel.tell({ method: "unknownClient", params: {} });
    expect(kernel.last("initialize").params.visible).toBe(false);
    await kernel.answer("initialize", INTRODUCED);
    const reports = kernel.messages.filter(({ method }) => method === "visibility" || method === "initialize");
    expect(reports.map(({ method, params }) => [method, params.visible])).toEqual([
      ["initialize", false],
      ["visibility", true],
      ["visibility", true],
    ]);
  });

  test.each([
    ["considers the page hidden", { [ROOT]: 1 }, 2],
    ["sends all subscribed channels", { [ROOT]: 1, [CHAT]: 1 }, 1],
    ["is older and does not list what it sends", undefined, 1],
  ])("a visible page reconnects only if needed when the kernel %s", async (_how, indexes, times) => {
    const { kernel, client } = await live();
    const summary = { resource: "eliza:/1", provider: "eliza", title: "", status: 1, createdAt: "", modifiedAt: "" };
    kernel.flush(1, [{ channel: ROOT, index: 2, action: { type: "x-agentnb/sessionSet", summary } }]);
    const initialized = () => kernel.messages.filter(({ method }) => /^(initialize|reconnect)$/.test(method)).length;
    kernel.tell({ method: "pong", params: { hostId: "h1", indexes: { [ROOT]: 1 } } });
    expect(initialized()).toBe(1); // the view is hidden
    client.view("1").setVisible(true);
    kernel.tell({ method: "pong", params: { hostId: "h1", indexes } });
    expect(initialized()).toBe(times);
    expect(kernel.last(times === 2 ? "reconnect" : "initialize").params.visible).toBe(times === 2);
  });
});

describe("older turns", () => {
  const turn = (id: string, text: string) => ({
    id,
    message: { text: "hi", origin: { kind: "user" } },
    responseParts: [{ kind: "markdown", id: "p1", content: text }],
    state: "complete",
  });
  const late = (index: number, turnId: string, content: string) => ({
    channel: CHAT,
    index,
    action: {
      type: "x-agentnb/late",
      turnId,
      action: { type: "chat/delta", turnId, partId: "p1", content },
    },
  });
  const texts = (client: Client) =>
    client.older(CHAT).value.turns.map(({ responseParts: [part] }) => (part?.kind === "markdown" ? part.content : "?"));

  async function long() {
    const { kernel, client } = await live();
    const snapshot = { ...chatState("x"), turns: [turn("c", "c")] };
    const snapshots = [{ resource: CHAT, state: snapshot, fromSeq: 10, earlier: 2 }];
    kernel.tell({ method: "actions", params: { flush: 1, envelopes: [], snapshots } });
    return { kernel, client };
  }

  test("are counted, fetched only once, and put before the others", async () => {
    const { kernel, client } = await long();
    expect(client.older(CHAT).value).toEqual({ left: 2, turns: [] });
    const fetched = client.fetchOlder(CHAT, 1);
    client.fetchOlder(CHAT, 1);
    expect(kernel.messages.filter(({ method }) => method === "fetchTurns")).toHaveLength(1);
    expect(kernel.last("fetchTurns").params).toEqual({ channel: CHAT, before: "c", limit: 1 });
    await kernel.answer("fetchTurns", { turns: [turn("b", "b")], hasMore: true, earlier: 1, index: 10 });
    await fetched;
    expect(client.older(CHAT).value.left).toEqual(1);
    const more = client.fetchOlder(CHAT, 1);
    expect(kernel.last("fetchTurns").params).toEqual({ channel: CHAT, before: "b", limit: 1 });
    await kernel.answer("fetchTurns", { turns: [turn("a", "a")], hasMore: false, earlier: 0, index: 10 });
    await more;
    expect(texts(client)).toEqual(["a", "b"]);
    await client.fetchOlder(CHAT, 1);
    expect(kernel.messages.filter(({ method }) => method === "fetchTurns")).toHaveLength(2);
  });

  test("apply late actions exactly once", async () => {
    const { kernel, client } = await long();
    const fetched = client.fetchOlder(CHAT, 2);
    await kernel.answer("fetchTurns", {
      turns: [turn("a", "a"), turn("b", "b+11")],
      hasMore: false,
      earlier: 0,
      index: 11,
    });
    await fetched;
    kernel.flush(1, [late(11, "b", "+11"), late(12, "b", "+12")]);
    expect(texts(client)).toEqual(["a", "b+11+12"]);
  });

  test("show changes that are undone later", async () => {
    const { kernel, client } = await long();
    const fetched = client.fetchOlder(CHAT, 2);
    await kernel.answer("fetchTurns", {
      turns: [turn("a", "a"), turn("b", "b")],
      hasMore: false,
      earlier: 0,
      index: 10,
    });
    await fetched;
    const changes = { status: "ready", files: 1, undone: 1 };
    kernel.flush(1, [{ channel: CHAT, index: 11, action: { type: "x-agentnb/turnChanges", turnId: "b", changes } }]);
    expect(client.older(CHAT).value.turns.map((one) => one.changes)).toEqual([undefined, changes]);
  });

  test("are dropped only when a snapshot starts at a different turn", async () => {
    const { kernel, client } = await long();
    const fetched = client.fetchOlder(CHAT, 2);
    await kernel.answer("fetchTurns", {
      turns: [turn("a", "a"), turn("b", "b")],
      hasMore: false,
      earlier: 0,
      index: 10,
    });
    await fetched;
    const again = (fromSeq: number, earlier: number) => {
      const snapshots = [{ resource: CHAT, state: chatState("y"), fromSeq, earlier }];
      kernel.tell({ method: "actions", params: { flush: fromSeq, envelopes: [], snapshots } });
    };
    again(20, 2);
    expect(texts(client)).toEqual(["a", "b"]);
    again(30, 5);
    expect(client.older(CHAT).value).toEqual({ left: 5, turns: [] });
  });

  test("can be fetched again after the kernel returns an error", async () => {
    const { kernel, client } = await long();
    const refused = client.fetchOlder(CHAT, 1);
    kernel.tell({ id: kernel.last("fetchTurns").id, error: { code: -32012, message: "No." } });
    await expect(refused).rejects.toThrow("No.");
    client.fetchOlder(CHAT, 1).catch(() => undefined);
    expect(kernel.messages.filter(({ method }) => method === "fetchTurns")).toHaveLength(2);
  });
});

describe("large content", () => {
  const REF = { uri: "agentnb-content:t/1", size: 7 };
  const bytes = new TextEncoder().encode("aä☃b"); // 7 bytes, cut inside a character below

  async function serve(kernel: Kernel, cuts: number[]): Promise<void> {
    let from = 0;
    for (const to of cuts) {
      const { id, params } = kernel.last("fetchContent");
      expect(params).toMatchObject({ channel: CHAT, uri: REF.uri, offset: from });
      const view = new DataView(bytes.buffer, from, to - from);
      kernel.tell({ id, result: { uri: REF.uri, offset: from, size: 7 } }, undefined, [view]);
      for (let tick = 0; tick < 8; tick += 1) await Promise.resolve();
      from = to;
    }
  }

  test("is fetched in ranges that may split a character, and cached", async () => {
    const { kernel, client } = await live();
    const text = client.content(CHAT, REF);
    await serve(kernel, [2, 4, 7]);
    expect(await text).toBe("aä☃b");
    expect(await client.content(CHAT, REF)).toBe("aä☃b");
    expect(kernel.messages.filter(({ method }) => method === "fetchContent")).toHaveLength(3);
  });

  test("fails when the kernel no longer has it, and can be fetched again", async () => {
    const { kernel, client } = await live();
    const text = client.content(CHAT, REF);
    kernel.tell({ id: kernel.last("fetchContent").id, error: { code: -32012, message: "It is gone." } });
    await expect(text).rejects.toThrow("It is gone.");
    const again = client.content(CHAT, REF);
    await serve(kernel, [7]);
    expect(await again).toBe("aä☃b");
  });

  test("fails when the answer ends too early", async () => {
    const { kernel, client } = await live();
    const text = client.content(CHAT, REF);
    const failed = expect(text).rejects.toThrow("an incomplete answer");
    await serve(kernel, [3]);
    kernel.tell({ id: kernel.last("fetchContent").id, result: { uri: REF.uri, offset: 3, size: 7 } }, undefined, [
      new DataView(bytes.buffer, 0, 0),
    ]);
    await failed;
  });

  test("fails when the answer has no bytes", async () => {
    const { kernel, client } = await live();
    const text = client.content(CHAT, REF);
    kernel.tell({ id: kernel.last("fetchContent").id, result: { size: 7 } });
    await expect(text).rejects.toThrow("follow the protocol");
  });
});

describe("a workspace file", () => {
  const bytes = new Uint8Array([0, 255, 13, 10, 60]);

  async function give(kernel: Kernel, from: number, to: number, more: object = {}): Promise<void> {
    const { id, params } = kernel.last("readFile");
    expect(params).toEqual({ channel: CHAT, path: "a b.bin", offset: from });
    const result = { path: "a b.bin", offset: from, size: 5, modified: 7, ...more };
    kernel.tell({ id, result }, undefined, [new DataView(bytes.buffer, from, to - from)]);
    for (let tick = 0; tick < 8; tick += 1) await Promise.resolve();
  }

  test("is fetched in ranges with all its bytes", async () => {
    const { kernel, client } = await live();
    const file = client.file(CHAT, "a b.bin");
    await give(kernel, 0, 3);
    await give(kernel, 3, 5);
    const blob = await file;
    expect([blob.size, blob.type]).toEqual([5, ""]);
  });

  test("needs only one request when it is empty", async () => {
    const { kernel, client } = await live();
    const file = client.file(CHAT, "a b.bin");
    await give(kernel, 0, 0, { size: 0 });
    expect((await file).size).toBe(0);
  });

  test.each([{ modified: 8 }, { size: 6 }])("fails when the file changes during loading (%o)", async (changed) => {
    const { kernel, client } = await live();
    const failed = expect(client.file(CHAT, "a b.bin")).rejects.toThrow("changed while it was being loaded");
    await give(kernel, 0, 3);
    await give(kernel, 3, 5, changed);
    await failed;
  });

  test("fails when the answer is malformed", async () => {
    const { kernel, client } = await live();
    const failed = expect(client.file(CHAT, "a b.bin")).rejects.toThrow("readFile doesn't follow the protocol");
    await give(kernel, 0, 5, { modified: "yesterday" });
    await failed;
  });
});

describe("changes", () => {
  const SET = "eliza:/1/changes/t";

  async function give(kernel: Kernel, text: string, more: object = {}): Promise<void> {
    const { id } = kernel.last("readChange");
    const bytes = new TextEncoder().encode(text);
    const result = { size: bytes.length, cut: false, binary: false, ...more };
    kernel.tell({ id, result }, undefined, [new DataView(bytes.buffer)]);
    for (let tick = 0; tick < 8; tick += 1) await Promise.resolve();
  }

  test("of a turn are subscribed to when they are first read", async () => {
    const { kernel, client } = await live();
    const set = client.changeset(SET);
    expect(kernel.last("subscribe").params).toEqual({ channel: SET });
    await kernel.answer("subscribe", {
      snapshot: { resource: SET, state: { status: "ready", files: [] }, fromSeq: 1 },
    });
    const file = { id: "file:a", edit: {} };
    kernel.flush(1, [{ channel: SET, index: 2, action: { type: "changeset/fileSet", file } }]);
    expect(set.value).toEqual({ status: "ready", files: [file] });
  });

  test("are reported as a gap when the kernel no longer has them", async () => {
    const { kernel, client } = await live();
    client.changeset(SET);
    await kernel.missing();
    expect(client.gaps.value).toEqual({ [SET]: "The kernel no longer has these changes." });
  });

  test("are read in ranges, one side of a file at a time", async () => {
    const { kernel, client } = await live();
    const text = client.change(SET, "file:a", "before");
    expect(kernel.last("readChange").params).toEqual({
      channel: SET,
      id: "file:a",
      side: "before",
      first: 0,
      length: 262_144,
    });
    await give(kernel, "one\n", { size: 8, cut: true });
    expect(kernel.last("readChange").params.first).toBe(4);
    await give(kernel, "two\n", { size: 8 });
    expect(await text).toEqual({ text: "one\ntwo\n", size: 8, isCut: false, isBinary: false });
  });

  test.each([
    [
      { size: 9, binary: true },
      { text: "", size: 9, isCut: false, isBinary: true },
    ],
    [
      { size: 1_000_001, cut: true },
      { text: "", size: 1_000_001, isCut: true, isBinary: false },
    ],
    [{ size: 0 }, { text: "", size: 0, isCut: false, isBinary: false }],
  ])("are read with a single request when the answer is %j", async (answer, expected) => {
    const { kernel, client } = await live();
    const text = client.change(SET, "file:a", "after");
    await give(kernel, answer.size === 0 ? "" : "x", answer);
    expect(await text).toEqual(expected);
    expect(kernel.messages.filter(({ method }) => method === "readChange")).toHaveLength(1);
  });

  test("fail to load when a field of the answer has the wrong type", async () => {
    const { kernel, client } = await live();
    const text = client.change(SET, "file:a", "after");
    await give(kernel, "x", { binary: "no" });
    await expect(text).rejects.toThrow("follow the protocol");
  });
});
