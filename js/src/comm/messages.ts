/**
 * The messages between page and kernel: those of the Agent Host Protocol, and ours (docs/reference/protocol.md).
 * Whatever comes in is checked here; what does not fit is dropped and logged once, and never breaks the channel.
 */
import { type Answer, fits } from "../state/answers.ts";
import { isEnvelope, isIndex, isObject } from "../state/guard.ts";
import { type ActionsParams, AHP_METHODS, type PongParams } from "../state/requests.gen.ts";
import { WINDOW } from "../state/tables.gen.ts";

/** The error that says that page and kernel have no version in common. */
export const UNSUPPORTED_VERSION = -32010;
/** The error that says that there is no such channel. */
export const UNKNOWN_SESSION = -32001;

const OURS = "x-agentnb/";

/** The name of a method on the wire: that of the Agent Host Protocol, or one of ours. */
export const wireName = (method: string): string => (AHP_METHODS.has(method) ? method : OURS + method);

export interface Outgoing {
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

export type Incoming =
  | { kind: "result"; id: number; result: unknown }
  | { kind: "error"; id: number; code: number; message: string }
  | { kind: "notification"; method: string; params: unknown };

type Json = Record<string, unknown>;

/** The kernel's "no" to a request. */
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

/** Reads a custom message; undefined when it is for another client or not of the protocol. */
export function read(message: unknown, clientId: string): Incoming | undefined {
  if (!isObject(message) || message.to !== clientId) return undefined;
  if (!speaks(message.v) && !isRefusal(message)) return undefined;
  if (typeof message.method === "string") {
    const method = message.method.startsWith(OURS) ? message.method.slice(OURS.length) : message.method;
    return { kind: "notification", method, params: message.params };
  }
  if (typeof message.id !== "number") return undefined;
  if (isObject(message.error)) return { kind: "error", id: message.id, ...readError(message.error) };
  return { kind: "result", id: message.id, result: message.result };
}

/** It may be in a version that we do not speak: that is what it says. */
const isRefusal = (message: Json): boolean => isObject(message.error) && message.error.code === UNSUPPORTED_VERSION;

function readError(error: Json): { code: number; message: string } {
  return { code: Number(error.code) || 0, message: String(error.message ?? "The kernel refused.") };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

export const isFlush = (value: unknown): value is ActionsParams => fits(value, "ActionsParams");

export const isPong = (value: unknown): value is PongParams => fits(value, "PongParams");

export function isText(value: unknown): value is Text {
  if (!Array.isArray(value) || !isCount(value[0]) || !isCount(value[1])) return false;
  const [, , first, index, content, time] = value;
  const action = { type: "chat/delta", turnId: "", partId: "", content, time };
  return isIndex(first) && isEnvelope({ channel: "", first, index, action });
}
