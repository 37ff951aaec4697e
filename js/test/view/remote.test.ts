/** Another host's conversations in this notebook's chat: it offers only the actions that work there. */
import { describe, expect, test } from "vitest";
import { Client, type Wire } from "../../src/comm/client";
import { offer } from "../../src/notebooks";
import { ROOT } from "../../src/view/identity";
import type { NotebookActions } from "../../src/view/store";
import { AGENT, CHAT, type MemoryStore, readyStore, startTurn } from "./memory-store";
import { fetchModule } from "./modules";
import { open, type Page } from "./page";

const NOTEBOOK: Required<NotebookActions> = {
  insertBelow: () => undefined,
  replaceActive: () => undefined,
  run: () => undefined,
  runCells: () => undefined,
  hasRun: () => false,
  compare: () => undefined,
  propose: () => undefined,
  showProposal: () => undefined,
  applied: () => undefined,
  comments: { show: () => () => undefined, take: () => [], giveBack: () => undefined },
  attention: () => undefined,
  showConversation: () => undefined,
  settings: () => undefined,
  drawDiagram: () => Promise.resolve(""),
  showCell: () => undefined,
  unanswered: () => undefined,
  verification: () => undefined,
  openFile: () => undefined,
};
const remoteHost = { name: "127.0.0.1:4123", state: "connected" };

function chat(isRemote: boolean): { store: MemoryStore; page: Page } {
  const store = Object.assign(readyStore(), { module: fetchModule });
  const codex = {
    ...AGENT,
    provider: "codex",
    displayName: "Codex",
    missing: true,
    install: "npm i",
    canInstall: true,
  };
  const config = { schema: {}, values: isRemote ? { remoteHost } : {} };
  store.root.value = { agents: [AGENT, codex], sessions: store.root.peek()?.sessions ?? [], config };
  return { store, page: open(store, { kind: "chat" }) };
}

/** Its methods need their object, as JupyterLab's do. */
class Edits implements NotebookActions {
  readonly #codes: string[] = [];

  get codes(): readonly string[] {
    return this.#codes;
  }
  insertBelow(source: string): void {
    this.#codes.push(source);
  }
  replaceActive(source: string): void {
    this.#codes.push(source);
  }
  run(source: string): void {
    this.#codes.push(source);
  }
}

async function clientOf(values: Record<string, unknown>, actions: NotebookActions = NOTEBOOK): Promise<Client> {
  const messages: { id: number; clientId: string }[] = [];
  const listeners = new Set<(message: unknown) => void>();
  const manager = {};
  const wire: Wire = {
    widget_manager: manager as NonNullable<Wire["widget_manager"]>,
    send: (message) => void messages.push(message as (typeof messages)[number]),
    on: (_event, listener) => void listeners.add(listener),
    off: (_event, listener) => void listeners.delete(listener),
  };
  offer(manager, actions);
  const client = new Client(wire);
  const root = { resource: ROOT, state: { agents: [], config: { schema: {}, values } }, fromSeq: 1 };
  const result = { protocolVersion: 3, hostId: "h", snapshots: [root], missing: [] };
  for (const listener of listeners)
    listener({ jsonrpc: "2.0", v: 3, to: messages[0]?.clientId, id: messages[0]?.id, result });
  await Promise.resolve();
  return client;
}

describe("a remote chat", () => {
  test("offers only the notebook actions that the user triggers", async () => {
    const [own, remote] = [await clientOf({}), await clientOf({ remoteHost })];
    expect(Object.keys(own.notebook ?? {})).toEqual(Object.keys(NOTEBOOK));
    expect(Object.keys(remote.notebook ?? {})).toEqual(["insertBelow", "replaceActive", "run", "drawDiagram"]);
    own.dispose();
    remote.dispose();
  });

  test("inserts, replaces and runs code in this notebook", async () => {
    const notebook = new Edits();
    const remote = await clientOf({ remoteHost }, notebook);
    remote.notebook?.insertBelow("below");
    remote.notebook?.replaceActive("instead");
    remote.notebook?.run("run");
    expect(notebook.codes).toEqual(["below", "instead", "run"]);
    remote.dispose();
  });

  test.each([true, false])("offers no Install or Check again for agents when remote (%s)", async (isRemote) => {
    const { page } = chat(isRemote);
    page.find(".pill").click();
    await page.until(() => page.find(".pill-pop .fold-head"));
    page.find(".pill-pop .fold-head").click();
    await page.until(() => expect(page.text()).toContain("Copy install command"));
    const names = page.all(".agent-list button").map((button) => button.textContent);
    expect([names.includes("Install…"), names.includes("Check again")]).toEqual([!isRemote, !isRemote]);
  });

  test.each([true, false])("offers Allow, but no Preview when remote (%s)", async (isRemote) => {
    const { store, page } = chat(isRemote);
    const call = { turnId: "t1", toolCallId: "c1" };
    startTurn(store, "t1", "Tidy up");
    store.apply(CHAT, {
      type: "chat/toolCallStart",
      ...call,
      toolName: "run",
      displayName: "tidy",
      details: { kind: "execute" },
    });
    const options = [{ id: "allow", label: "Allow", kind: "approve" as const, optionKind: "allow_once" as const }];
    store.apply(CHAT, { type: "chat/toolCallReady", ...call, invocationMessage: "tidy", toolInput: "tidy", options });
    await page.until(() => page.find(".permission"));
    const names = page.all(".permission button").map((button) => button.textContent);
    expect([names.some((name) => name?.includes("Preview")), names.some((name) => name?.includes("Allow"))]).toEqual([
      !isRemote,
      true,
    ]);
  });

  test("has no History or Settings in its menu", async () => {
    const { page } = chat(true);
    page.button("Conversation").click();
    await page.until(() => expect(page.all("[role=menuitem]").length).toBeGreaterThan(0));
    const names = page.all("[role=menuitem]").map((item) => item.textContent ?? "");
    expect(names.filter((name) => /History|Settings|Duplicate|Notifications/.test(name))).toEqual([]);
  });

  test("offers files of the other host, and shows why a download failed", async () => {
    const { store, page } = chat(true);
    store.answer = (method) =>
      method === "readFile" ? Promise.reject(new Error("phone may not drive.")) : Promise.resolve({});
    store.notebook = { insertBelow() {}, replaceActive() {}, run() {} };
    startTurn(store, "t1", "Fit");
    const call = { turnId: "t1", toolCallId: "c1" };
    const details = {
      kind: "edit",
      locations: [{ path: "/w/fit.png" }],
      content: [{ type: "diff", path: "/w/fit.png", oldText: null, newText: "x" }],
    };
    store.apply(CHAT, { type: "chat/toolCallStart", ...call, toolName: "edit", displayName: "edit", details } as never);
    store.apply(CHAT, { type: "chat/toolCallReady", ...call, invocationMessage: "edit", confirmed: "not-needed" });
    store.apply(CHAT, { type: "chat/toolCallComplete", ...call, result: { success: true, pastTenseMessage: "edit" } });
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1", stopReason: "end_turn" } as never);
    await page.until(() => expect(page.all("[aria-label^=Download]").length).toBe(1));
    expect(page.all("[aria-label^=Open]")).toEqual([]);
    page.find("[aria-label^=Download]").click();
    await page.until(() => expect(page.text()).toContain("phone may not drive."));
    expect(store.requested.at(-1)).toEqual({ method: "readFile", params: { channel: CHAT, path: expect.any(String) } });
  });
});
