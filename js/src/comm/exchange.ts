/** The wire in both directions: what is said, what is asked and answered, and whether the kernel's end is still there. */
import { WINDOW } from "../state/tables.gen.ts";
import { uuid } from "../view/identity.ts";
import { type Outgoing, Refused, read, wireName } from "./messages.ts";
import type { Manager } from "./surroundings.ts";

const CLOSED = "The widget was closed.";

type Listener = (message: unknown) => void;

/** The little of anywidget's model that a client needs. */
export interface Wire {
  send(message: unknown): void;
  on(event: "msg:custom", listener: Listener): void;
  off(event: "msg:custom", listener: Listener): void;
  readonly widget_manager?: Manager;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** What comes of the wire that is no answer. */
export interface Hears {
  notified(method: string, params: unknown): void;
  /** The kernel's end is gone, or back. */
  changed(): void;
}

export class Exchange {
  readonly clientId = uuid();
  /** The version agreed on. */
  version: number = WINDOW.current;
  #isLost = false;
  #isClosed = false;
  #wire: Wire;
  #hears: Hears;
  #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #logged = new Set<string>();
  #listener: Listener = (message) => this.#receive(message);

  constructor(wire: Wire, hears: Hears) {
    this.#wire = wire;
    this.#hears = hears;
    wire.on("msg:custom", this.#listener);
  }

  /** Nothing can be sent: the kernel that knew this widget has ended. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** The id that the next request will have. */
  get nextId(): number {
    return this.#nextId;
  }

  ask(method: string, params: unknown): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new Error(CLOSED)); // no answer would be heard
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ ...this.#head, id, method: wireName(method), params });
    });
  }

  async request<T>(method: string, params: unknown): Promise<T> {
    return (await this.ask(method, params)) as T;
  }

  notify(method: string, params: unknown): void {
    this.#send({ ...this.#head, method: wireName(method), params });
  }

  /** Waits for the answer no longer. */
  abandon(id: number, why: string): void {
    this.#waiting.get(id)?.reject(new Error(why));
    this.#waiting.delete(id);
  }

  /** Once for each text. */
  log(text: string): void {
    if (this.#logged.has(text)) return;
    this.#logged.add(text);
    console.warn(`[agentnb] ${text}`);
  }

  dispose(): void {
    this.#isClosed = true;
    this.#wire.off("msg:custom", this.#listener);
    for (const id of [...this.#waiting.keys()]) this.abandon(id, CLOSED);
  }

  get #head() {
    return { jsonrpc: "2.0", v: this.version, clientId: this.clientId } as const;
  }

  #receive(raw: unknown): void {
    const message = read(raw, this.clientId);
    if (message === undefined) return;
    if (message.kind === "notification") return this.#hears.notified(message.method, message.params);
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.kind === "result") waiting?.resolve(message.result);
    else waiting?.reject(new Refused(message));
  }

  #send(message: Outgoing): void {
    const before = this.#isLost;
    try {
      this.#wire.send(message);
      this.#isLost = false;
    } catch {
      this.#isLost = true;
    }
    if (before !== this.#isLost) this.#hears.changed();
  }
}
