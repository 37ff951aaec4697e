/** Tests the page's connection state: from the kernel's answers, the ability to send, and JupyterLab if present. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Client, type Wire } from "../../src/comm/client.ts";
import type { LabKernel, Manager } from "../../src/comm/surroundings.ts";
import { offer } from "../../src/notebooks.ts";
import { ROOT } from "../../src/view/identity.ts";
import type { NotebookActions } from "../../src/view/store.ts";

const BEAT = 3_000;

/** JupyterLab's kernel connection, with a status that the test sets. */
class Kernel implements LabKernel {
  status = "idle";
  connectionStatus = "connected";
  #slots = new Set<() => void>();
  readonly connectionStatusChanged = {
    connect: (slot: () => void) => void this.#slots.add(slot),
    disconnect: (slot: () => void) => void this.#slots.delete(slot),
  };

  connection(status: string): void {
    this.connectionStatus = status;
    for (const slot of this.#slots) slot();
  }

  get watchers(): number {
    return this.#slots.size;
  }
}

interface Said {
  id?: number;
  clientId: string;
  method: string;
  params: Record<string, unknown>;
}

/** A widget whose kernel answers or stays silent. */
class Widget implements Wire {
  messages: Said[] = [];
  answers = true;
  isClosed = false;
  hostId = "h1";
  ahead: Record<string, number> = {};
  #listener: ((message: unknown) => void) | undefined;

  constructor(readonly widget_manager: Manager = {}) {}

  send(message: unknown): void {
    if (this.isClosed) throw new Error("Cannot send");
    const received = structuredClone(message) as Said;
    this.messages.push({ ...received, method: received.method.replace(/^x-agentnb\//, "") });
    if (this.answers) this.answer();
  }

  on(_event: "msg:custom", listener: (message: unknown) => void): void {
    this.#listener = listener;
  }

  off(): void {
    this.#listener = undefined;
  }

  tell(message: Record<string, unknown>): void {
    this.#listener?.({ jsonrpc: "2.0", v: 3, to: this.messages[0]?.clientId, ...message });
  }

  /** Answers the page's last message. */
  answer(): void {
    const { id, method } = this.messages.at(-1) as Said;
    const snapshots = [{ resource: ROOT, state: { agents: [] }, fromSeq: 1 }];
    const pong = { hostId: this.hostId, indexes: this.ahead };
    if (method === "ping") this.tell({ method: "x-agentnb/pong", params: pong });
    else if (method === "initialize" || method === "reconnect")
      this.tell({ id, result: { protocolVersion: 3, hostId: this.hostId, snapshots, missing: [] } });
    else if (id !== undefined) this.tell({ id, error: { code: -32001, message: "There is no such channel." } });
  }

  count(method: string): number {
    return this.messages.filter((message) => message.method.replace("reconnect", "initialize") === method).length;
  }
}

let open: Client[] = [];
beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  for (const client of open) client.dispose();
  open = [];
  vi.useRealTimers();
});

function client(widget: Widget): Client {
  const made = new Client(widget);
  open.push(made);
  return made;
}

async function live(kernel?: Kernel): Promise<{ widget: Widget; page: Client }> {
  const widget = new Widget(kernel ? { kernel } : {});
  const page = client(widget);
  await vi.advanceTimersByTimeAsync(0);
  expect(page.connection.value).toBe("live");
  return { widget, page };
}

/** Waits long enough for a ping, and for the page to notice that it gets no answer. */
const silence = () => vi.advanceTimersByTimeAsync(10_000 + 3 * BEAT);

describe("a kernel that does not answer", () => {
  test("is connecting at first, and silent after a while", async () => {
    const widget = new Widget();
    widget.answers = false;
    const page = client(widget);
    expect(page.connection.value).toBe("connecting");
    await silence();
    expect(page.connection.value).toBe("silent");
  });

  test("gets few pings and two initialize messages in an hour", async () => {
    const widget = new Widget();
    widget.answers = false;
    client(widget);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(widget.count("initialize")).toBe(2);
    expect(widget.count("ping")).toBeLessThan(160);
  });

  test("is silent when JupyterLab reports no status", async () => {
    const { widget, page } = await live();
    widget.answers = false;
    await silence();
    expect(page.connection.value).toBe("silent");
  });

  test("is pinged soon after it sends any message", async () => {
    const { widget, page } = await live();
    widget.answers = false;
    await vi.advanceTimersByTimeAsync(10_000 + 10 * BEAT);
    const pings = widget.count("ping");
    await vi.advanceTimersByTimeAsync(BEAT);
    expect(widget.count("ping")).toBe(pings);
    widget.tell({ method: "x-agentnb/actions", params: { flush: 1, envelopes: [] } });
    widget.answers = true;
    await vi.advanceTimersByTimeAsync(BEAT);
    expect([widget.count("ping"), page.connection.value]).toEqual([pings + 1, "live"]);
  });

  test.each([
    ["idle", "silent"],
    ["busy", "busy"],
  ])("is reported with the time since the ping: kernel %s, state %s", async (status, state) => {
    const kernel = new Kernel();
    const { widget } = await live(kernel);
    const reported: [number, string][] = [];
    const unanswered = (beats: number, connection: () => string) => void reported.push([beats, connection()]);
    offer(widget.widget_manager, { unanswered } as unknown as NotebookActions);
    await vi.advanceTimersByTimeAsync(9_999);
    widget.answers = false;
    kernel.status = status;
    await vi.advanceTimersByTimeAsync(1);
    await vi.advanceTimersByTimeAsync(24 * BEAT);
    expect(reported.slice(2)).toEqual(Array.from({ length: 22 }, (_, at) => [at + 3, state]));
    widget.answers = true;
    await vi.advanceTimersByTimeAsync(20 * BEAT);
    expect(reported).toHaveLength(32);
  });

  test("is busy when JupyterLab reports a running cell", async () => {
    const kernel = new Kernel();
    const { widget, page } = await live(kernel);
    widget.answers = false;
    kernel.status = "busy";
    await silence();
    expect(page.connection.value).toBe("busy");
  });

  test("is restarting until its start ends, even if JupyterLab reports busy", async () => {
    const kernel = new Kernel();
    const { widget, page } = await live(kernel);
    widget.answers = false;
    for (const status of ["restarting", "autorestarting", "starting", "busy"]) {
      kernel.status = status;
      await silence();
      expect([status, page.connection.value]).toEqual([status, "restarting"]);
    }
  });

  test("is live while a cell runs as long as it answers", async () => {
    const kernel = new Kernel();
    const { page } = await live(kernel);
    kernel.status = "busy";
    await silence();
    expect(page.connection.value).toBe("live");
  });

  test("is detected sooner when an action waits for its answer", async () => {
    const { widget, page } = await live();
    page.view("v").setVisible(true);
    widget.answers = false;
    page.dispatch(ROOT, { type: "root/unknown" } as never);
    await vi.advanceTimersByTimeAsync(3 * BEAT);
    expect(page.connection.value).toBe("silent");
  });

  test("gets a reconnect and unconfirmed actions when it answers again", async () => {
    const { widget, page } = await live();
    page.dispatch(ROOT, { type: "root/unknown" } as never);
    widget.answers = false;
    await silence();
    widget.answers = true;
    await vi.advanceTimersByTimeAsync(8 * BEAT);
    expect([page.connection.value, widget.count("initialize"), widget.count("dispatchAction")]).toEqual(["live", 2, 2]);
  });

  test("stays live after the page slept for hours", async () => {
    const { widget, page } = await live();
    await vi.advanceTimersByTimeAsync(9_999);
    widget.answers = false;
    await vi.advanceTimersByTimeAsync(1);
    vi.setSystemTime(Date.now() + 8 * 3_600_000);
    await vi.advanceTimersByTimeAsync(BEAT);
    expect(page.connection.value).toBe("live");
  });
});

describe("a kernel that has ended", () => {
  test.each([
    ["connected", "restarted"],
    ["disconnected", "gone"],
  ])("whose connection is %s is shown as %s", async (connection, expected) => {
    const kernel = new Kernel();
    const { widget, page } = await live(kernel);
    widget.isClosed = true;
    kernel.connection(connection);
    expect(page.connection.value).toBe(expected);
  });

  test("is detected without JupyterLab", async () => {
    const { widget, page } = await live();
    widget.isClosed = true;
    await silence();
    expect(page.connection.value).toBe("gone");
  });

  test("does not throw when an action is dispatched to it", async () => {
    const { widget, page } = await live();
    widget.isClosed = true;
    page.dispatch(ROOT, { type: "root/unknown" } as never);
    expect(page.connection.value).toBe("gone");
  });

  test("has an unconfirmed prompt until the prompt's echo arrives", async () => {
    const { widget, page } = await live();
    const message = { text: "hi", origin: { kind: "user" } } as const;
    page.dispatch(ROOT, { type: "session/isReadChanged", isRead: true });
    expect(page.isUnsaid).toBe(false);
    page.dispatch("eliza:/1/chat", { type: "chat/turnStarted", turnId: "t", message });
    expect(page.isUnsaid).toBe(true);
    const { clientId, params } = widget.messages.at(-1) as Said;
    const origin = { clientId, clientSeq: params.clientSeq };
    const echo = { channel: "eliza:/1/chat", index: 1, action: params.action, origin };
    widget.tell({ method: "x-agentnb/actions", params: { flush: 1, envelopes: [echo] } });
    expect(page.isUnsaid).toBe(false);
  });

  test("links to the new chat of the same notebook only", async () => {
    const [kernel, elsewhere] = [new Kernel(), new Kernel()];
    const manager = { kernel };
    const old = new Widget(manager);
    const page = client(old);
    await vi.advanceTimersByTimeAsync(0);
    old.isClosed = true;
    kernel.connection("connected");
    client(new Widget({ kernel: elsewhere }));
    await vi.advanceTimersByTimeAsync(0);
    expect(page.successor.value).toBeUndefined();

    const next = client(new Widget(manager));
    const element = document.body.appendChild(document.createElement("div"));
    const scroll = vi.fn();
    element.scrollIntoView = scroll;
    next.view("new", element);
    await vi.advanceTimersByTimeAsync(0);
    page.successor.value?.();
    expect(scroll).toHaveBeenCalledOnce();
    element.remove();
  });

  test("does not become a link to a new chat while it is live", async () => {
    const manager = { kernel: new Kernel() };
    const page = client(new Widget(manager));
    await vi.advanceTimersByTimeAsync(0);
    client(new Widget(manager));
    await vi.advanceTimersByTimeAsync(0);
    expect(page.successor.value).toBeUndefined();
  });
});

describe("a cut connection", () => {
  test("is shown at once and restored at once", async () => {
    const kernel = new Kernel();
    const { widget, page } = await live(kernel);
    widget.answers = false;
    kernel.connection("connecting");
    expect(page.connection.value).toBe("cut");
    widget.answers = true;
    kernel.connection("connected");
    await vi.advanceTimersByTimeAsync(0);
    expect([page.connection.value, widget.count("initialize")]).toEqual(["live", 2]);
  });

  test("is not watched after the widget is closed", async () => {
    const kernel = new Kernel();
    const { page } = await live(kernel);
    expect(kernel.watchers).toBe(1);
    page.dispose();
    expect([kernel.watchers, page.connection.value]).toEqual([0, "gone"]);
  });
});

describe("catching up", () => {
  const title = { channel: ROOT, index: 2, action: { type: "root/unknown" } };

  test("lasts from when the page becomes visible until it has all actions", async () => {
    const { widget, page } = await live();
    widget.ahead = { [ROOT]: 2 };
    page.view("v").setVisible(true);
    expect(page.connection.value).toBe("behind");
    widget.tell({ method: "x-agentnb/actions", params: { flush: 1, envelopes: [title] } });
    expect(page.connection.value).toBe("live");
  });

  test("is not shown on a hidden page", async () => {
    const { widget, page } = await live();
    widget.ahead = { [ROOT]: 2 };
    await vi.advanceTimersByTimeAsync(10_000);
    expect(page.connection.value).toBe("live");
  });

  test("is not shown when the page missed nothing", async () => {
    const { widget, page } = await live();
    widget.ahead = { [ROOT]: 1, "eliza:/not-followed": 9 };
    page.view("v").setVisible(true);
    expect(page.connection.value).toBe("live");
  });
});
