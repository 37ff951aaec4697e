/** Informs the kernel about the notebook, over a separate comm: `agentnb.lab` (agentnb/server/messages.py). */

import type { Cell, NotebookPanel } from "@jupyterlab/notebook";
import type { Comm, FileChange, Kernel, Message } from "@jupyterlab/services";
import type { Signal } from "@lumino/widgets";
import { AGAIN } from "../notebooks";
import { isObject } from "../state/object";
import { uuid } from "../view/identity";
import type { AgentEdit, AgentEdits } from "./agent-edits";
import type { Failed } from "./failed-cells";
import { Difference, notebookState } from "./notebook-state";
import { part } from "./parts";
import { onSubshell } from "./subshell";

const TARGET = "agentnb.lab";
const VERSION = 1;
const SUBSHELL_MS = 2_000;
const QUIET_MS = 250;
const LONGEST_MS = 1_500;
/** After a pause of this length, the page tells the kernel at once that the user is active here. */
const AWAY_MS = 1_000;

/** Events in a page, and true if they are captured anywhere in it; `focus` is the window's. */
const ACTS = [
  ["focus", false],
  ["pointerdown", true],
  ["keydown", true],
  [AGAIN, false],
] as const;

/** `SavedParams` of agentnb/server/lab_messages.py. */
export interface Saved {
  path: string;
  type: string;
  was?: string;
  /** True if JupyterLab saved the file automatically. */
  isAutomatic?: boolean;
}

/** Returns JupyterLab's report of a file's change; undefined if it concerns no file with a path. */
export function savedOf({ type, oldValue, newValue }: FileChange): Saved | undefined {
  const [was, path] = [oldValue?.path, newValue?.path];
  if (type === "rename" && path) return was ? { type, path, was } : { type, path };
  if (type === "delete" && was) return { type, path: was };
  return (type === "save" || type === "new") && path ? { type, path } : undefined;
}

export class Link {
  readonly #panel: NotebookPanel;
  readonly #edits: AgentEdits;
  readonly #comm: Comm;
  /** Sends on the subshell, if it is known, so that no running cell blocks the message. */
  readonly #aside: <T>(send: () => T) => T;
  readonly #endings: (() => void)[] = [];
  #watched: Cell | null = null;
  #difference = new Difference();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #since = 0;
  #actedAt = Date.now();
  #last = "";
  #open = false;
  /** Requests that wait for the kernel's answer. */
  readonly #requests = new Map<string, (prompt: string) => void>();

  constructor(panel: NotebookPanel, edits: AgentEdits, kernel: Kernel, subshell?: string) {
    this.#panel = panel;
    this.#edits = edits;
    this.#aside = (send) => onSubshell(kernel, subshell, send);
    this.#comm = kernel.createComm(TARGET);
    this.#comm.onMsg = (message) => this.#receive(message);
    this.#comm.onClose = () => this.dispose();
  }

  async open(): Promise<void> {
    // A message sent before the comm's subshell exists would wait behind the running cell.
    const limit = new Promise((resolve) => setTimeout(resolve, SUBSHELL_MS));
    if (this.#comm.subshellStarted) await Promise.race([this.#comm.subshellStarted, limit]);
    if (this.#comm.isDisposed) return;
    this.#aside(() => this.#comm.open({ v: VERSION, clientId: pageId(), outputs: true }));
    this.#open = true;
    const { content, context } = this.#panel;
    if (content.selectionChanged) this.#follow(content.selectionChanged, this.#later);
    this.#follow(content.activeCellChanged, () => {
      this.#watch();
      this.#later();
    });
    if (content.model) {
      this.#follow(content.model.contentChanged, this.#later);
      this.#follow(content.model.stateChanged, this.#later); // saved, or changed since
    }
    this.#follow(context.pathChanged, this.#later);
    for (const [kind, capture] of ACTS) {
      window.addEventListener(kind, this.#act, capture);
      this.#endings.push(() => window.removeEventListener(kind, this.#act, capture));
    }
    this.#watch();
    this.flush();
  }

  /** Sends the whole notebook again: earlier messages may be lost. */
  #again = (): void => {
    this.#difference = new Difference();
    this.#last = "";
    this.flush();
  };

  /** Called when the user acts in the page: of several pages with the notebook, they work in this one. */
  #act = ({ type }: Event): void => {
    if (type === AGAIN) this.#again();
    if (!this.#panel.isVisible) return;
    const wasAway = type === "focus" || Date.now() - this.#actedAt > AWAY_MS;
    this.#actedAt = Date.now();
    if (!wasAway) return;
    this.#last = "";
    this.flush();
  };

  /** Sends now what otherwise waits for a pause. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#open) return;
    const state = notebookState(this.#panel.context, this.#panel.content);
    const whole = JSON.stringify(state);
    if (whole === this.#last) return;
    this.#last = whole;
    this.#send("notebook", { ...this.#difference.of(state), idle: Math.max(0, Date.now() - this.#actedAt) });
  }

  /** Returns the prompt to fix or explain a cell's error, which the kernel remembers from then on. */
  promptFor(failed: Failed): Promise<string> {
    return this.#ask("failed", failed);
  }

  /** Returns the mention for selected code of a cell; the kernel keeps the code as it is. */
  mentionOf(cellId: string, text: string): Promise<string> {
    return this.#ask("quote", { cellId, text });
  }

  #ask(method: string, params: object): Promise<string> {
    this.flush();
    const id = uuid();
    return new Promise((resolve) => {
      this.#requests.set(id, resolve);
      this.#send(method, { id, ...params });
    });
  }

  /** Reports a file that the user saved, created, renamed or deleted through this page. */
  saved(saved: Saved): void {
    if (this.#open) this.#send("saved", saved);
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#open = false;
    for (const end of this.#endings.splice(0)) end();
    this.#watched?.model.selections.changed.disconnect(this.#later);
    if (!this.#comm.isDisposed) this.#comm.dispose();
  }

  /** Follows the selection in the active cell. */
  #watch(): void {
    if (this.#watched && !this.#watched.isDisposed) this.#watched.model.selections.changed.disconnect(this.#later);
    this.#watched = this.#panel.content.activeCell;
    this.#watched?.model.selections.changed.connect(this.#later);
  }

  #follow<A>(signal: Signal<A>, slot: () => void): void {
    signal.connect(slot);
    this.#endings.push(() => signal.disconnect(slot));
  }

  /** Sends after a pause in typing, and at intervals during long typing. */
  readonly #later = (): void => {
    const now = Date.now();
    if (this.#timer === undefined) this.#since = now;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), Math.min(QUIET_MS, Math.max(0, this.#since + LONGEST_MS - now)));
  };

  #receive(message: Message): void {
    const data = message.content.data;
    if (!isObject(data)) return;
    const params = isObject(data.params) ? data.params : {};
    if (data.method === "failedPrompt") this.#answered(params, params.text);
    if (data.method === "quoted") this.#answered(params, params.mention);
    if (data.method === "outputs") void this.#tell(params);
    if (data.method === "edit") void this.#edit(params as unknown as AgentEdit);
    if (data.method === "notebookAgain") this.#again();
  }

  #answered({ id }: Record<string, unknown>, answer: unknown): void {
    this.#requests.get(String(id))?.(String(answer));
    this.#requests.delete(String(id));
  }

  /** Sends the outputs of cells; an empty list if they can't be read. */
  async #tell({ id, cellIds }: Record<string, unknown>): Promise<void> {
    const ids = Array.isArray(cellIds) ? cellIds.map(String) : [];
    const cells = await part("attach")
      .then(({ outputsOf }) => outputsOf(this.#panel.content, ids))
      .catch((error: unknown) => {
        console.warn("agentnb:", error);
        return [];
      });
    if (this.#open) this.#send("cellOutputs", { id, cells });
  }

  async #edit(edit: AgentEdit): Promise<void> {
    const done = await this.#edits.perform(edit);
    if (!this.#open) return;
    this.flush(); // the kernel gets the change before the confirmation
    this.#send("edited", done);
  }

  #send(method: string, params: unknown): void {
    this.#aside(() => this.#comm.send({ jsonrpc: "2.0", v: VERSION, clientId: pageId(), method, params }));
  }
}

/** Stays the same over a reload, so that the page's new state replaces its old one. */
function pageId(): string {
  const key = "agentnb page";
  const known = sessionStorage.getItem(key) ?? uuid();
  sessionStorage.setItem(key, known);
  return known;
}
