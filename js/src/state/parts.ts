/**
 * The parts of a turn: finds them by id and counts waiting ones, in constant time for any number of parts.
 *
 * The data about an array of parts is kept beside it. Arrays made from each other share one index of places, to which
 * entries are only added: it may have places that only another array has, so each is checked before use.
 */
import type { ResponsePart } from "./types.gen.ts";

type Parts = readonly ResponsePart[];

interface Known {
  readonly places: Map<string, number>;
  /** The number of tool calls that wait for approval of the call or its result, and of unanswered questions. */
  readonly waiting: number;
}

const KNOWN = new WeakMap<Parts, Known>();

/** The id by which actions name a part; some parts have none. */
export function partId(part: ResponsePart): string | undefined {
  if (part.kind === "toolCall") return part.toolCall.toolCallId;
  return "id" in part ? part.id : undefined;
}

/** Returns the place of the last part with this id; -1 if there is none. */
export function findPart(parts: Parts, wanted: string): number {
  const at = known(parts).places.get(wanted) ?? -1;
  const part = parts[at];
  if (at < 0 || (part !== undefined && partId(part) === wanted)) return at;
  return parts.findLastIndex((each) => partId(each) === wanted);
}

/** Returns the place of the waiting question with this id; -1 if there is none. */
export function findRequest(parts: Parts, id: string): number {
  return parts.findLastIndex(
    (part) => part.kind === "inputRequest" && part.request.id === id && part.response === undefined,
  );
}

export function waitingCalls(parts: Parts): number {
  return known(parts).waiting;
}

export function appended(parts: Parts, part: ResponsePart): Parts {
  const { places, waiting } = known(parts);
  const next = [...parts, part];
  const id = partId(part);
  if (id !== undefined && (places.get(id) ?? parts.length) !== parts.length) return next; // the id already existed
  if (id !== undefined) places.set(id, parts.length);
  KNOWN.set(next, { places, waiting: waiting + waits(part) });
  return next;
}

/** Returns the parts with the one at `at` replaced by another of the same id. */
export function replaced(parts: Parts, at: number, part: ResponsePart): Parts {
  const { places, waiting } = known(parts);
  const old = parts[at];
  const next = parts.slice();
  next[at] = part;
  KNOWN.set(next, { places, waiting: waiting + waits(part) - (old === undefined ? 0 : waits(old)) });
  return next;
}

function known(parts: Parts): Known {
  let entry = KNOWN.get(parts);
  if (entry === undefined) {
    const places = new Map<string, number>();
    let waiting = 0;
    for (const [at, part] of parts.entries()) {
      const id = partId(part);
      if (id !== undefined) places.set(id, at);
      waiting += waits(part);
    }
    entry = { places, waiting };
    KNOWN.set(parts, entry);
  }
  return entry;
}

function waits(part: ResponsePart): number {
  if (part.kind === "inputRequest") return part.response === undefined ? 1 : 0;
  if (part.kind !== "toolCall") return 0;
  const { status } = part.toolCall;
  return status === "pending-confirmation" || status === "pending-result-confirmation" ? 1 : 0;
}
