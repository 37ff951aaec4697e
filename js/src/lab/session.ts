/** One notebook's part of the sidebar: its kernel's chat, or why there is none. */
import type { Manager } from "@jupyter-widgets/jupyterlab-manager";
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import { Panel, Widget } from "@lumino/widgets";
import { hearThoughLate } from "../late-module";
import type { Leaving } from "../view/after-restart";
import type { NotebookActions } from "../view/store";
import type { Addition } from "./add-to-chat";
import type { AgentEdits } from "./agent-edits";
import { type Boot, boot } from "./boot";
import type { Failed } from "./failed-cells";
import { Link, type Saved } from "./link";
import * as notices from "./notices";
import { part } from "./parts";
import { chatOf, PendingPrompt } from "./pending-prompt";
import type { Rejoined, SentModel } from "./rejoin";
import { knowsSubshells, subshellOf } from "./subshell";

const SLOW_MS = 1_500;
/** The time for a restarted kernel to load agentnb, before a running cell counts as the reason. */
const START_MS = 10_000;
const DYING = new Set(["restarting", "autorestarting"]);
const STARTING = new Set([...DYING, "starting", "unknown"]);

export interface Parts {
  panel: NotebookPanel;
  edits: NotebookActions;
  agentEdits: AgentEdits;
  manager: Promise<Manager>;
  /** Runs a JupyterLab command on the active notebook. */
  execute(command: string): void;
}

export class Session {
  readonly node = new Panel();
  readonly #parts: Parts;
  readonly #head = new Widget({ node: document.createElement("div") });
  #body: Widget | undefined;
  #link: Link | undefined;
  readonly #pending = new PendingPrompt();
  /** The user's message, which no other prompt replaces. */
  readonly #message = new PendingPrompt();
  /** Reopens in the next kernel's chat what was open when the kernel ended. */
  readonly #reopening = new PendingPrompt();
  #open: string | undefined;
  /** Looks for the box to focus. */
  #focusing: ReturnType<typeof setInterval> | undefined;
  /** Called with the link once there is one. */
  #onLink: ((link: Link) => void) | undefined;
  #started: Kernel | null = null;
  #attempt = 0;
  #state = "new";
  #restarting = false;
  /** The time when the kernel's latest restart began or ended. */
  #restartedAt = Number.NEGATIVE_INFINITY;
  /** The time of the request for the kernel's chat. */
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.node.addClass("agentnb-session");
    this.#head.addClass("agentnb-head");
    this.node.addWidget(this.#head);
    for (const { node } of [this.#message, this.#pending]) this.node.addWidget(new Widget({ node }));
    this.node.node.addEventListener("focusin", () => this.#link?.flush());
    const { sessionContext, context } = parts.panel;
    sessionContext.kernelChanged.connect(this.#onKernel);
    sessionContext.statusChanged.connect(this.#onStatus);
    context.pathChanged.connect(this.#onPath);
    this.#onPath();
  }

  /** Shows the chat, unless it is shown or loading. */
  start(): void {
    const kernel = this.#kernel();
    if (this.#state !== "new" && this.#started === kernel) return;
    this.again();
  }

  /** Loads the chat again. */
  readonly again = (): void => {
    const attempt = ++this.#attempt;
    this.#started = this.#kernel();
    this.#drop();
    void this.#load(attempt).catch((error: unknown) => {
      if (attempt === this.#attempt) this.#say("failed", notices.failed(String(error), this.again));
    });
  };

  /** Sends a cell's error to the agent, as soon as a conversation is open. */
  ask(failed: Failed): void {
    const prompt = this.#linked().then((link) => link.promptFor(failed));
    const about = failed.count ? `The error of [${failed.count}]` : "The error";
    void this.#pending.send(this.node.node, about, prompt);
  }

  /** Sends a message, as soon as the chat is open. */
  say(text: string): void {
    void this.#message.send(this.node.node, "Your message", Promise.resolve(text));
  }

  /** Adds mentions to the draft, as soon as a conversation is open. */
  add({ about, mentions }: Addition): void {
    const text = this.#linked().then((link) => mentions(link));
    void this.#pending.send(this.node.node, about, text, "agentnb-add");
  }

  /** Opens a panel of the chat or one of its conversations, as soon as the chat is open. */
  open(about: string, name: string, how: "agentnb-panel" | "agentnb-open"): void {
    void this.#pending.send(this.node.node, about, Promise.resolve(name), how);
  }

  async #linked(): Promise<Link> {
    const link =
      this.#link ??
      (await new Promise<Link>((resolve) => {
        this.#onLink = resolve;
      }));
    link.flush();
    return link;
  }

  /** Tells the kernel about a file that the user saved through this page. */
  saved(saved: Saved): void {
    this.#link?.saved(saved);
  }

  /** Called when a cell has run: it may have installed agentnb. */
  cellDone(): void {
    if (this.#state === "missing") this.again();
  }

  /** Focuses the message box, now or as soon as it appears, unless the user goes elsewhere. */
  focus(): void {
    clearInterval(this.#focusing);
    if (this.#focusBox()) return;
    const root = this.node.node;
    root.tabIndex = -1;
    root.focus();
    const isOver = (): boolean => {
      const active = document.activeElement;
      const isElsewhere = active !== root && active !== document.body;
      return isElsewhere || !this.node.isVisible || this.#focusBox();
    };
    this.#focusing = setInterval(() => isOver() && clearInterval(this.#focusing), 100);
  }

  dispose(): void {
    this.#attempt++;
    clearInterval(this.#focusing);
    this.#message.cancel();
    this.#pending.cancel();
    this.#reopening.cancel();
    const { sessionContext, context } = this.#parts.panel;
    sessionContext.kernelChanged.disconnect(this.#onKernel);
    sessionContext.statusChanged.disconnect(this.#onStatus);
    context.pathChanged.disconnect(this.#onPath);
    this.#drop();
    this.node.dispose();
  }

  async #load(attempt: number): Promise<void> {
    const stale = (): boolean => attempt !== this.#attempt || this.node.isDisposed;
    const { panel } = this.#parts;
    this.#say("loading", notices.loading());
    await panel.sessionContext.ready;
    await panel.context.ready;
    const kernel = this.#kernel();
    if (stale()) return;
    this.#started = kernel;
    const { execute, edits } = this.#parts;
    if (!kernel)
      return this.#say(
        "no kernel",
        notices.noKernel(() => execute("notebook:change-kernel")),
      );
    const slow = (): void => {
      if (!stale()) this.#sayWhy(kernel);
    };
    this.#askedAt = Date.now();
    const answer = await this.#ask(kernel, slow);
    if (stale()) return;
    if (answer.state === "language") return this.#say("language", notices.language(answer.name));
    const insert = (source: string): void => edits.insertBelow(source);
    if (answer.state === "missing") return this.#say("missing", notices.missing(answer.python, this.again, insert));
    if (answer.state === "failed") return this.#say("failed", notices.failed(answer.reason, this.again));
    await this.#show(answer, stale);
    if (stale()) return;
    if (this.#open) void this.#reopening.send(this.node.node, "", Promise.resolve(this.#open), "agentnb-reopen");
    this.#open = undefined;
    const subshell = answer.state === "rejoined" ? subshellOf(kernel) : undefined;
    this.#link = new Link(panel, this.#parts.agentEdits, kernel, subshell);
    await this.#link.open();
    this.#onLink?.(this.#link);
  }

  /** Loads the chat in the usual way; if that is slow, also in the way that no cell blocks. */
  async #ask(kernel: Kernel, onSlow: () => void): Promise<Opened> {
    let slow: ReturnType<typeof setTimeout> | undefined;
    let again: ReturnType<typeof setInterval> | undefined;
    const around = new Promise<Opened>((resolve, reject) => {
      slow = setTimeout(() => {
        onSlow();
        again = setInterval(onSlow, SLOW_MS);
        rejoining()
          .then(({ rejoin }) => rejoin(kernel))
          .then((answer) => resolve({ state: "rejoined", ...answer }), reject);
      }, SLOW_MS);
    });
    return Promise.race([usual(kernel), around]).finally(() => {
      clearTimeout(slow);
      clearInterval(again);
    });
  }

  /**
   * Shows why the kernel is slow: it restarts or runs a cell. While it loads agentnb, our request makes it busy, too.
   */
  #sayWhy(kernel: Kernel): void {
    const isRestarting = STARTING.has(kernel.status) || Date.now() - this.#restartedAt < START_MS;
    const isLoading = !isRestarting && !this.#runsCell() && Date.now() - this.#askedAt < START_MS;
    const state = isLoading ? "loading" : isRestarting ? "restarting" : "busy";
    if (state === this.#state) return;
    const notice = { loading: notices.loading, restarting: notices.restarting };
    this.#say(state, state === "busy" ? notices.busy(knowsSubshells(kernel)) : notice[state]());
  }

  #runsCell(): boolean {
    const { node } = this.#parts.panel.content;
    return [...node.querySelectorAll(".jp-InputPrompt")].some(({ textContent }) => textContent?.includes("*"));
  }

  async #show({ modelId, models }: { modelId: string; models?: SentModel[] }, stale: () => boolean): Promise<void> {
    const { panel } = this.#parts;
    const manager = await this.#parts.manager.catch(() => undefined);
    if (!manager) return this.#say("failed", notices.noManager());
    if (models) await (await rejoining()).adopt(manager, models);
    const model = await manager
      .get_model(modelId)
      .catch(async () => (await rejoining()).modelOf(manager, panel.content.model, modelId));
    void hearThoughLate(model);
    const view = await manager.create_view(model);
    if (stale()) return view.luminoWidget.dispose();
    view.luminoWidget.addClass("agentnb-chat-view");
    this.#put("shown", view.luminoWidget);
    removeBorder(view.luminoWidget.node);
  }

  #say(state: string, notice: notices.Notice): void {
    this.#put(state, new Widget({ node: notices.noticeElement(notice) }));
  }

  #put(state: string, body: Widget): void {
    this.#body?.dispose();
    this.#body = body;
    this.#state = state;
    this.node.node.dataset.state = state;
    this.node.addWidget(body);
  }

  /** Remembers what is open in the chat of a kernel that ends, for the next kernel's chat. */
  #keepOpen(): void {
    const detail: Leaving = {};
    chatOf(this.node.node)?.dispatchEvent(new CustomEvent("agentnb-leaving", { detail }));
    this.#open = detail.open ?? this.#open;
  }

  #drop(): void {
    this.#link?.dispose();
    this.#link = undefined;
    this.#body?.dispose();
    this.#body = undefined;
    this.#state = "new";
  }

  #kernel(): Kernel | null {
    return this.#parts.panel.sessionContext.session?.kernel ?? null;
  }

  #focusBox(): boolean {
    const root = this.node.node.querySelector(".agentnb-view")?.shadowRoot;
    // The history or the settings first, because they have boxes, too; otherwise the message box.
    const box = root?.querySelector<HTMLElement>(".panel[tabindex='-1'], .prompt textarea:not(:disabled)");
    if (!box?.contains(root?.activeElement ?? null)) box?.focus();
    return box !== null && box !== undefined;
  }

  /** Called when the kernel was replaced or removed. */
  #onKernel = (): void => {
    if (!this.#kernel()) this.#keepOpen();
    if (this.#state !== "new") this.again();
  };

  /** A kernel that restarts loses everything; its first status after that is the new kernel's. */
  #onStatus = (_: unknown, status: string): void => {
    if (this.#state === "new" && !this.#restarting) return;
    if (DYING.has(status) || status === "dead") this.#keepOpen();
    if (DYING.has(status)) {
      this.#attempt++;
      this.#restarting = true;
      this.#restartedAt = Date.now();
      this.#drop();
      this.#say("restarting", notices.restarting());
    } else if (status === "dead") {
      this.#attempt++;
      this.#drop();
      this.#say(
        "dead",
        notices.dead(() => this.#parts.execute("notebook:restart-kernel")),
      );
    } else if (this.#restarting && (status === "idle" || status === "busy")) {
      this.#restarting = false;
      this.#restartedAt = Date.now();
      this.again();
    }
  };

  #onPath = (): void => {
    const path = this.#parts.panel.context.path;
    this.#head.node.textContent = path.slice(path.lastIndexOf("/") + 1);
    this.#head.node.title = path;
  };
}

const rejoining = () => part("rejoin");

/** The result of loading: the usual answer, another language, or an existing chat. */
type Opened = Boot | { state: "language"; name: string } | ({ state: "rejoined" } & Rejoined);

async function usual(kernel: Kernel): Promise<Opened> {
  const { name } = (await kernel.info).language_info;
  return name === "python" ? boot(kernel) : { state: "language", name };
}

/** Removes the chat's own border as soon as the chat is drawn: the sidebar has one. */
function removeBorder(node: HTMLElement): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(".root.chat { border: 0; border-radius: 0; }");
  const watch = new MutationObserver(() => {
    const root = node.querySelector(".agentnb-view")?.shadowRoot;
    if (root && !root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
  });
  watch.observe(node, { childList: true, subtree: true });
}
