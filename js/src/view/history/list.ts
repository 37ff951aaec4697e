/** Fetches the conversations of the log from the kernel, checks them, and groups them by day. */
import type { Request } from "../../state/answers";
import { own } from "../../state/object";
import type { SearchHit, SessionRecord } from "../../state/requests.gen";

export const PAGE = 50;

export type Scope = "here" | "folder" | "everywhere";

/** The state of conversations, or that they are archived; empty for all that are not archived. */
export type Show = "" | "running" | "needs-you" | "failed" | "archived";

export interface Query {
  readonly search: string;
  readonly scope: Scope;
  /** Empty for all agents. */
  readonly agent: string;
  readonly show: Show;
  /** Only conversations with activity in so many days, today included; 0 for all. */
  readonly days: number;
}

/** A conversation of the log, with its search hits. */
export interface Conversation extends SessionRecord {
  /** True if another kernel has it open. */
  readonly isElsewhere: boolean;
  readonly hits: readonly SearchHit[];
}

export interface Listed {
  readonly conversations: readonly Conversation[];
  readonly hasMore: boolean;
  /** The number of conversations that could not be searched yet. */
  readonly left: number;
  /** The reason why some may be missing. */
  readonly note: string;
}

/** Fetches one page of the list, from the `offset`th conversation on. */
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

/** Groups the conversations by the day of their last activity, the pinned ones first; keeps the given order. */
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
