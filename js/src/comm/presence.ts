/** The connection of the page to its kernel: pings it now and then, and derives the state to show to the user. */
import { signal } from "@preact/signals";
import { AGAIN, notebookOf } from "../notebooks.ts";
import type { PongParams } from "../state/requests.gen.ts";
import type { Connection, ViewLink } from "../view/store.ts";
import type { Channels } from "./channels.ts";
import type { Exchange } from "./exchange.ts";
import type { Handshake } from "./handshake.ts";
import { type Manager, type Standing, standing, watchKernel } from "./surroundings.ts";

const PING_MS = 10_000;
const RETRY_MS = 3_000;

export class Presence {
  readonly connection = signal<Connection>("connecting");
  #exchange: Exchange;
  #channels: Channels;
  #handshake: Handshake;
  #views: Views;
  #manager: Manager | undefined;
  #pulse = new Pulse();
  #wasCut = false;
  #restarts = false;
  #ahead: Readonly<Record<string, number>> = {};
  #ends: (() => void)[];

  constructor(exchange: Exchange, channels: Channels, handshake: Handshake, views: Views, manager?: Manager) {
    this.#exchange = exchange;
    this.#channels = channels;
    this.#handshake = handshake;
    this.#views = views;
    this.#manager = manager;
    const timers = [setInterval(() => this.#beat(), PING_MS), setInterval(() => this.#retry(), RETRY_MS)];
    const unwatch = watchKernel(manager, () => {
      this.stand();
      this.ping();
    });
    const unfollow = channels.gaps.subscribe(() => this.stand());
    this.#ends = [unwatch, unfollow, ...timers.map((timer) => () => clearInterval(timer))];
  }

  end(): void {
    for (const end of this.#ends) end();
    this.connection.value = "gone";
  }

  /** The first view has become visible, or the last one hidden. */
  seen(visible: boolean): void {
    this.#exchange.notify("visibility", { visible });
    if (visible) this.ping();
    else this.stand();
  }

  ping(): void {
    this.#pulse.startWaiting();
    this.#exchange.notify("ping", {});
  }

  /** The kernel answers; returns true if it had been silent. */
  answered(): boolean {
    this.#restarts = false;
    return this.#pulse.answered();
  }

  /** The page's messages arrive. After a silence or a cut, some of the page's and some of the kernel's may be lost. */
  pong({ hostId, indexes }: PongParams): void {
    this.#ahead = indexes ?? {};
    const isForgotten = this.#views.visible && this.#handshake.isForgotten(this.#ahead);
    const again = this.answered() || this.#wasCut || isForgotten;
    if (again || hostId !== this.#handshake.hostId.peek()) this.#handshake.initialize();
    if (again) window.dispatchEvent(new Event(AGAIN));
    this.#wasCut = false;
    this.caughtUp();
    this.stand();
  }

  /** Something has arrived: the gap of an unreadable message may be closed. */
  caughtUp(): void {
    this.#pulse.heard();
    if (!this.#channels.isBehind(this.#ahead)) this.#channels.readable();
  }

  /** Derives the state of the connection to show to the user. */
  stand(): void {
    const kernel = standing(this.#manager);
    if (kernel === "cut") this.#wasCut = true;
    if (kernel === "restarting") this.#restarts = true;
    this.connection.value = this.#state(kernel);
  }

  #state(kernel: Standing): Connection {
    if (this.#exchange.isLost) return kernel === "cut" || kernel === undefined ? "gone" : "restarted";
    // A starting kernel is busy with that, not with a cell.
    if (kernel === "restarting" || (this.#restarts && kernel === "busy")) return "restarting";
    if (kernel === "cut") return "cut";
    if (this.#pulse.silent) return kernel === "busy" ? "busy" : "silent";
    if (this.#handshake.hostId.peek() === undefined) return "connecting";
    if (Object.keys(this.#channels.gaps.peek()).length > 0) return "gap";
    return this.#views.visible && this.#channels.isBehind(this.#ahead) ? "behind" : "live";
  }

  #beat(): void {
    if (!this.#pulse.waits) this.ping();
  }

  /** Repeats unanswered requests although the kernel answers others: it was not ready, or the answer was lost. */
  #retry(): void {
    if (this.#pulse.waits) {
      if (this.#pulse.beat()) this.ping();
      notebookOf(this.#manager)?.unanswered?.(this.#pulse.beats, () => this.connection.peek());
    } else if (this.#handshake.again() || (this.#views.visible && this.#channels.isUnanswered)) this.ping();
    this.stand();
  }
}

const SILENT = 2;
const SELDOM = 8;

/** Checks whether the kernel answers. Timeouts count ticks of the page's own timer, so sleep does not expire them. */
class Pulse {
  #beats: number | undefined;

  /** True if a question is unanswered. */
  get waits(): boolean {
    return this.#beats !== undefined;
  }

  /** True if it is unanswered for so long that the user should know. */
  get silent(): boolean {
    return this.waits && (this.#beats as number) >= SILENT;
  }

  get beats(): number {
    return this.#beats ?? 0;
  }

  startWaiting(): void {
    this.#beats ??= 0;
  }

  /** Returns true if the kernel had been silent. */
  answered(): boolean {
    const before = this.silent;
    this.#beats = undefined;
    return before;
  }

  /** A message came, but no answer: the question may be lost, so the next beat repeats it. */
  heard(): void {
    if (this.silent) this.#beats = SILENT + 1;
  }

  /** Counts a beat without an answer; returns true if it is time to ask again: soon at first, seldom later. */
  beat(): boolean {
    this.#beats = (this.#beats ?? 0) + 1;
    return this.#beats < SELDOM ? (this.#beats & (this.#beats - 1)) === 0 : this.#beats % SELDOM === 0;
  }
}

interface Shown {
  visible: boolean;
  element: Element | undefined;
}

/** The views of one client: whether any is visible; scrolls one into view. */
export class Views {
  #views = new Map<string, Shown>();
  visible = false;
  #changed: (visible: boolean) => void;

  /** `changed` is called when the first view becomes visible, and when the last one is hidden. */
  constructor(changed: (visible: boolean) => void) {
    this.#changed = changed;
  }

  open(viewId: string, element?: Element): ViewLink {
    const view: Shown = { visible: false, element };
    this.#views.set(viewId, view);
    return {
      setVisible: (visible) => {
        view.visible = visible;
        this.#report();
      },
      close: () => {
        this.#views.delete(viewId);
        this.#report();
      },
    };
  }

  /** Scrolls a view of this client into view. */
  show(): void {
    const elements = [...this.#views.values()].map((view) => view.element);
    elements.findLast((element) => element?.isConnected)?.scrollIntoView({ block: "nearest" });
  }

  #report(): void {
    const visible = [...this.#views.values()].some((view) => view.visible);
    if (visible === this.visible) return;
    this.visible = visible;
    this.#changed(visible);
  }
}
