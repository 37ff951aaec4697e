/** The panel in the right area: one session per notebook, of which it shows the active notebook's. */
import type { NotebookPanel, Tracker } from "@jupyterlab/notebook";
import { Panel, Widget } from "@lumino/widgets";
import type { Addition } from "./add-to-chat";
import type { Failed } from "./failed-cells";
import icon from "./icon";
import type { Session } from "./session";
import { fitWidth } from "./sidebar-width";

export const ID = "agentnb-sidebar";
/** The reason why unseen conversations need the user: a question, or only an answer. */
type Attention = "" | "waits" | "ended";

export class Sidebar extends Panel {
  readonly #sessions = new Map<NotebookPanel, Session>();
  /** True if the focus stays where it is when the sidebar opens next. */
  opensQuietly = false;
  readonly #attention = new Map<NotebookPanel, Attention>();
  readonly #tracker: Tracker;
  readonly #make: (panel: NotebookPanel) => Session;
  readonly #onVisible: (visible: boolean) => void;
  /** Shown while no notebook is open. */
  readonly #empty = new Widget({ node: document.createElement("div") });
  readonly #fillEmpty: (place: HTMLElement) => Promise<void>;
  #filled: Promise<void> | undefined;

  /** `fillEmpty` shows what the user can do without a notebook. */
  constructor(
    tracker: Tracker,
    make: (panel: NotebookPanel) => Session,
    onVisible: (visible: boolean) => void,
    fillEmpty: (place: HTMLElement) => Promise<void>,
  ) {
    super();
    this.id = ID;
    this.title.icon = icon;
    this.title.caption = "Agent chat";
    this.addClass("agentnb-sidebar");
    this.node.setAttribute("role", "complementary");
    this.node.setAttribute("aria-label", "Agent chat");
    this.#tracker = tracker;
    this.#make = make;
    this.#onVisible = onVisible;
    this.#fillEmpty = fillEmpty;
    this.#empty.addClass("agentnb-session");
    this.addWidget(this.#empty);
    tracker.currentChanged.connect(() => this.follow());
  }

  /** The active notebook's session, if there is one. */
  get current(): Session | undefined {
    const panel = this.#tracker.currentWidget;
    return panel ? this.#sessions.get(panel) : undefined;
  }

  /** Sends the error of a cell of the active notebook to its agent. */
  ask(failed: Failed): void {
    this.follow();
    this.current?.ask(failed);
  }

  /** Adds mentions from the active notebook to the draft. */
  add(addition: Addition): void {
    this.follow();
    this.current?.add(addition);
  }

  /** Returns a notebook's session, and loads its kernel's chat if necessary. */
  load(panel: NotebookPanel): Session {
    const session = this.#session(panel);
    session.start();
    this.follow();
    return session;
  }

  sessionOf(panel: NotebookPanel): Session | undefined {
    return this.#sessions.get(panel);
  }

  forEach(callback: (session: Session) => void): void {
    this.#sessions.forEach(callback);
  }

  /** Sets how many items, and how many questions, in a notebook's conversations need the user. */
  attend(panel: NotebookPanel, count: number, questions: number): void {
    if (count && !panel.isDisposed) this.#attention.set(panel, questions ? "waits" : "ended");
    else this.#attention.delete(panel);
    const isAsked = this.attention === "waits";
    const called = isAsked ? "Agent chat: an agent needs you" : "Agent chat: an agent has finished";
    this.title.caption = this.attention ? called : "Agent chat";
  }

  /** Returns what a notebook's conversations need from the user. */
  attentionOf(panel: NotebookPanel): Attention {
    return this.#attention.get(panel) ?? "";
  }

  /** The most urgent state of all notebooks. */
  get attention(): Attention {
    const all = [...this.#attention.values()];
    return all.includes("waits") ? "waits" : (all[0] ?? "");
  }

  /** Shows the active notebook's session. */
  follow(): void {
    const panel = this.#tracker.currentWidget;
    for (const [owner, session] of this.#sessions) if (owner !== panel) session.node.hide();
    if (!this.isVisible) return; // a hidden sidebar sends no kernel a request
    if (!panel) {
      this.#filled ??= this.#fillEmpty(this.#empty.node);
      return this.#empty.show();
    }
    this.#empty.hide();
    const session = this.#session(panel);
    session.node.show();
    session.start();
  }

  #session(panel: NotebookPanel): Session {
    const known = this.#sessions.get(panel);
    if (known) return known;
    const made = this.#make(panel);
    this.#sessions.set(panel, made);
    this.addWidget(made.node);
    panel.disposed.connect(() => {
      this.#sessions.delete(panel);
      made.dispose();
      this.follow();
    });
    return made;
  }

  protected override onAfterShow(message: unknown): void {
    super.onAfterShow(message);
    this.#onVisible(true);
    this.follow();
    requestAnimationFrame(() => this.isVisible && fitWidth(this)); // once the shell has laid it out
  }

  protected override onAfterHide(message: unknown): void {
    super.onAfterHide(message);
    this.#onVisible(false);
  }

  protected override onActivateRequest(message: unknown): void {
    super.onActivateRequest(message);
    if (!this.opensQuietly) {
      if (this.current) this.current.focus();
      else void this.#filled?.then(() => this.#empty.node.querySelector("textarea")?.focus());
    }
    this.opensQuietly = false;
  }
}
