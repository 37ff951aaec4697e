/**
 * The wire in both directions: notifications, requests and answers, and whether the kernel's end still exists. The
 * messages are those of the Agent Host Protocol, and ours (docs/reference/protocol.md). Checks every incoming message;
 * a malformed one is dropped and logged once, and never breaks the channel.
 */
import { type Answer, fits } from "../state/answers.ts";
import { isEnvelope, isIndex } from "../state/guard.ts";
import { isObject } from "../state/object.ts";
import { type ActionsParams, AHP_METHODS, type PongParams } from "../state/requests.gen.ts";
import { WINDOW } from "../state/tables.gen.ts";
import { uuid } from "../view/identity.ts";
import type { Manager } from "./surroundings.ts";

const CLOSED = "The widget was closed.";

type Listener = (message: unknown) => void;

/** The part of anywidget's model that a client needs. */
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

/** Receives what is not an answer. */
interface ExchangeHandlers {
  notified(method: string, params: unknown): void;
  /** The kernel's end has disappeared, or is back. */
  changed(): void;
}

export class Exchange {
  readonly clientId = uuid();
  /** The negotiated version. */
  version: number = WINDOW.current;
  /** True if nothing can be sent: the kernel that knew this widget has ended. */
  isLost = false;
  /** The id that the next request will have. */
  nextId = 1;
  #isClosed = false;
  #wire: Wire;
  #hears: ExchangeHandlers;
  #waiting = new Map<number, Waiting>();
  #logged = new Set<string>();
  #listener: Listener = (message) => this.#receive(message);

  constructor(wire: Wire, hears: ExchangeHandlers) {
    this.#wire = wire;
    this.#hears = hears;
    wire.on("msg:custom", this.#listener);
  }

  ask(method: string, params: unknown): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new Error(CLOSED)); // no answer would arrive
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ ...this.#head, id, method: wireName(method), params });
    });
  }

  notify(method: string, params: unknown): void {
    this.#send({ ...this.#head, method: wireName(method), params });
  }

  /** Stops waiting for the answer. */
  abandon(id: number, why: string): void {
    this.#waiting.get(id)?.reject(new Error(why));
    this.#waiting.delete(id);
  }

  /** Logs each text once. */
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
    const before = this.isLost;
    try {
      this.#wire.send(message);
      this.isLost = false;
    } catch {
      this.isLost = true;
    }
    if (before !== this.isLost) this.#hears.changed();
  }
}

/** The error if page and kernel have no version in common. */
export const UNSUPPORTED_VERSION = -32010;
/** The error if the channel does not exist. */
export const UNKNOWN_SESSION = -32001;

const OURS = "x-agentnb/";

/** Returns the name of a method on the wire: that of the Agent Host Protocol, or one of ours. */
export const wireName = (method: string): string => (AHP_METHODS.has(method) ? method : OURS + method);

interface Outgoing {
  jsonrpc: "2.0";
  v: number;
  clientId: string;
  method: string;
  params: unknown;
  id?: number;
}

/** The answer to `initialize` and to `reconnect`. */
export type Initialized = Answer<"initialize">;

/** A flush that only continues a text; `like` is the flush that named channel, turn and part. */
export type Text = [flush: number, like: number, first: number, index: number, content: string, time?: number];

type Incoming =
  | { kind: "result"; id: number; result: unknown }
  | { kind: "error"; id: number; code: number; message: string }
  | { kind: "notification"; method: string; params: unknown };

type Json = Record<string, unknown>;

/** The kernel's refusal of a request. */
export class Refused extends Error {
  readonly code: number;

  constructor({ code, message }: { code: number; message: string }) {
    super(message);
    this.code = code;
  }
}

/** The versions that this page speaks, the newest first. */
export const versions = (): number[] =>
  Array.from({ length: WINDOW.current - WINDOW.oldest + 1 }, (_, age) => WINDOW.current - age);

export const speaks = (version: unknown): version is number => versions().some((spoken) => spoken === version);

/** Reads a custom message; undefined if it is for another client or not of the protocol. */
export function read(message: unknown, clientId: string): Incoming | undefined {
  if (!isObject(message) || message.to !== clientId) return undefined;
  if (!speaks(message.v) && !isRefusal(message)) return undefined;
  if (typeof message.method === "string") {
    const method = message.method.startsWith(OURS) ? message.method.slice(OURS.length) : message.method;
    return { kind: "notification", method, params: message.params };
  }
  if (typeof message.id !== "number") return undefined;
  if (isObject(message.error)) {
    const { code, message: text } = message.error;
    return { kind: "error", id: message.id, code: Number(code) || 0, message: String(text ?? "The kernel refused.") };
  }
  return { kind: "result", id: message.id, result: message.result };
}

/** A refusal for an unsupported version may come in a version that this page does not speak. */
const isRefusal = (message: Json): boolean => isObject(message.error) && message.error.code === UNSUPPORTED_VERSION;

export const isFlush = (value: unknown): value is ActionsParams => fits(value, "ActionsParams");

export const isPong = (value: unknown): value is PongParams => fits(value, "PongParams");

export function isText(value: unknown): value is Text {
  if (!Array.isArray(value) || !fits(value[0], "count") || !fits(value[1], "count")) return false;
  const [, , first, index, content, time] = value;
  const action = { type: "chat/delta", turnId: "", partId: "", content, time };
  return isIndex(first) && isEnvelope({ channel: "", first, index, action });
}
