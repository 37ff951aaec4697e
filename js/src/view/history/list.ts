/** The conversations of the log as the kernel lists them: asked for, checked, and put in order by day. */
import type { Request } from "../../state/answers";
import { own } from "../../state/object";
import type { SearchHit, SessionRecord } from "../../state/requests.gen";

/** How many conversations are asked for at once. */
export const PAGE = 50;

export type Scope = "here" | "folder" | "everywhere";

/** What conversations do, or that they are archived; empty for all that are not. */
export type Show = "" | "running" | "needs-you" | "failed" | "archived";

export interface Query {
  readonly search: string;
  readonly scope: Scope;
  /** Empty for all agents. */
  readonly agent: string;
  readonly show: Show;
  /** Only those in which something happened in so many days, today included; 0 for all. */
  readonly days: number;
}

/** A kept conversation, with what this search says of it. */
export interface Conversation extends SessionRecord {
  /** Whether another kernel has it open. */
  readonly isElsewhere: boolean;
  readonly hits: readonly SearchHit[];
}

export interface Listed {
  readonly conversations: readonly Conversation[];
  /** Whether there may be more. */
  readonly hasMore: boolean;
  /** How many could not be searched yet. */
  readonly left: number;
  /** Why some may be missing. */
  readonly note: string;
}

/** One page of the list, from the `offset`th conversation on. */
export async function fetchList(request: Request, query: Query, offset: number, limit = PAGE): Promise<Listed> {
  const { search, scope, agent, show, days } = query;
  const answer = await request("listSessions", {
    ...(search && { search }),
    ...(scope === "here" && { here: true }),
    ...(scope === "folder" && { folder: true }),
    ...(agent && { agent }),
    ...(show === "archived" ? { archived: true } : show && { state: show }),
    ...(days > 0 && { since: startOfDay(new Date(), days - 1).getTime() }),
    limit,
    offset,
  });
  const elsewhere = new Set(answer.elsewhere);
  const conversations = answer.sessions.map((one) => ({
    ...one,
    isElsewhere: elsewhere.has(one.uri),
    hits: own(answer.hits ?? {}, one.uri) ?? [],
  }));
  return { conversations, hasMore: conversations.length >= limit, left: answer.left ?? 0, note: answer.note ?? "" };
}

/** What can be done with a conversation of the log that changes it there. */
export interface Change {
  title?: string;
  pinned?: boolean;
  archived?: boolean;
}

export const FORMS = [
  ["md", "Markdown", "text/markdown"],
  ["html", "Web page", "text/html"],
  ["jsonl", "JSON lines", "application/jsonl"],
  ["ipynb", "Notebook", "application/x-ipynb+json"],
] as const;

export interface Day {
  readonly name: string;
  readonly conversations: readonly Conversation[];
}

/** The pinned ones, then the others by the day on which something last happened, in the order given. */
export function byDay(conversations: readonly Conversation[], now: Date): Day[] {
  const days = new Map<string, { name: string; conversations: Conversation[] }>();
  for (const one of conversations) {
    const date = new Date(one.modifiedAt);
    const key = one.pinned ? "" : date.toDateString();
    const day = days.get(key) ?? { name: one.pinned ? "Pinned" : nameOf(date, now), conversations: [] };
    days.set(key, day);
    day.conversations.push(one);
  }
  return [...days.values()];
}

function nameOf(date: Date, now: Date): string {
  const yesterday = startOfDay(now, 1);
  if (date.toDateString() === now.toDateString()) return "Today";
  if (date.toDateString() === yesterday.toDateString()) return "Yesterday";
  const year = date.getFullYear() === now.getFullYear() ? undefined : ("numeric" as const);
  return date.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long", year });
}

function startOfDay(now: Date, daysBefore: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysBefore);
}
