/**
 * The messages between page and kernel: JSON-RPC 2.0 objects with the protocol's version (docs/reference/protocol.md).
 * Whatever comes in is checked here; what does not fit is dropped and logged once, and never breaks the channel.
 */
import { isEnvelope, isIndex, isObject } from "../state/guard.ts";
import { WINDOW } from "../state/tables.gen.ts";
import type { Envelope } from "../state/types.gen.ts";

/** The error that says that page and kernel have no version in common. */
export const UNSUPPORTED_VERSION = -32010;

export interface Outgoing {
  jsonrpc: "2.0";
  v: number;
  clientId: string;
  method: string;
  params: unknown;
  id?: number;
}

export interface Snapshot {
  snapshot: unknown;
  fromIndex: number;
  /** This page's own actions that are in it: no echo of them will come. */
  answered?: number[];
  /** How many of a chat's first turns it leaves out; they are fetched. */
  earlier?: number;
  /** What of it could not be recovered, and why. */
  gap?: string;
}

export interface Replay {
  replay: Envelope[];
}

export interface Initialized {
  protocolVersion: number;
  hostId: string;
  capabilities: Record<string, unknown>;
  channels: Record<string, Snapshot | Replay>;
  /** What other windows have typed and not sent, by chat. */
  drafts?: unknown;
  /** What the kernel's clock shows, in milliseconds since 1970. */
  time?: number;
  /** The kernel access of a new conversation for which nobody chooses one. */
  kernel?: unknown;
}

export interface Flush {
  flush: number;
  envelopes: Envelope[];
  snapshots?: Record<string, Snapshot>;
}

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
  if (typeof message.method === "string")
    return { kind: "notification", method: message.method, params: message.params };
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

export const isSnapshot = (value: unknown): value is Snapshot =>
  isObject(value) &&
  isObject(value.snapshot) &&
  isCount(value.fromIndex) &&
  (value.answered === undefined || (Array.isArray(value.answered) && value.answered.every(isCount))) &&
  (value.earlier === undefined || isCount(value.earlier)) &&
  (value.gap === undefined || typeof value.gap === "string");

export const isReplay = (value: unknown): value is Replay =>
  isObject(value) && Array.isArray(value.replay) && value.replay.every(isEnvelope);

export function isFlush(value: unknown): value is Flush {
  return (
    isObject(value) &&
    isCount(value.flush) &&
    Array.isArray(value.envelopes) &&
    value.envelopes.every(isEnvelope) &&
    (value.snapshots === undefined || (isObject(value.snapshots) && Object.values(value.snapshots).every(isSnapshot)))
  );
}

export function isText(value: unknown): value is Text {
  if (!Array.isArray(value) || !isCount(value[0]) || !isCount(value[1])) return false;
  const [, , first, index, content, time] = value;
  const action = { type: "chat/delta", turnId: "", partId: "", content, time };
  return isIndex(first) && isEnvelope({ channel: "", first, index, action });
}

export const isInitialized = (value: unknown): value is Initialized =>
  isObject(value) &&
  Number.isSafeInteger(value.protocolVersion) &&
  typeof value.hostId === "string" &&
  isObject(value.channels) &&
  (value.time === undefined || isCount(value.time));
