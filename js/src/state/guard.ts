/**
 * Checks wire messages before a reducer sees them: the form of an envelope, and the required fields of each known
 * action. An action of an unknown type is well-formed: it changes nothing.
 */
import { isObject } from "./object.ts";
import { REQUIRED } from "./tables.gen.ts";
import type { Action, Envelope } from "./types.gen.ts";

/** Fields and their types, by action. */
const FIELDS = new Map(
  Object.entries(REQUIRED).map(([action, fields]) => [
    action,
    fields
      .split(" ")
      .filter(Boolean)
      .map((field) => field.split(":") as [name: string, kind?: string]),
  ]),
);

/** True if this is an index of a channel: 1, 2, 3 … */
export function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

export function isAction(value: unknown): value is Action {
  if (!isObject(value) || typeof value.type !== "string") return false;
  if (value.time !== undefined && !isTime(value.time)) return false;
  if (value.type === "chat/responsePart" && !isPart(value.part)) return false;
  if (value.type === "x-agentnb/late" && !isAction(value.action)) return false;
  return (FIELDS.get(value.type) ?? []).every(([name, kind = "string"]) => kindOf(value[name]) === kind);
}

/** The last millisecond that ISO 8601 text and every calendar can express. */
const LATEST_TIME = 253_402_300_799_999;

function isTime(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= LATEST_TIME;
}

function isPart(value: unknown): boolean {
  if (!isObject(value) || typeof value.kind !== "string") return false;
  if (value.kind === "toolCall") return isObject(value.toolCall) && typeof value.toolCall.status === "string";
  return value.kind !== "markdown" || (typeof value.id === "string" && typeof value.content === "string");
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return value === null ? "null" : typeof value;
}

export function isEnvelope(value: unknown): value is Envelope {
  return (
    isObject(value) &&
    typeof value.channel === "string" &&
    isIndex(value.index) &&
    (value.first === undefined || (isIndex(value.first) && value.first <= value.index)) &&
    (value.origin === undefined || isOrigin(value.origin)) &&
    (value.rejectionReason === undefined || typeof value.rejectionReason === "string") &&
    (value.repeated === undefined || typeof value.repeated === "boolean") &&
    isAction(value.action)
  );
}

function isOrigin(value: unknown): boolean {
  return isObject(value) && typeof value.clientId === "string" && Number.isSafeInteger(value.clientSeq);
}
