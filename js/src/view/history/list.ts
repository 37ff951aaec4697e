/** The conversations of the log as the kernel lists them: asked for, checked, and put in order by day. */
import { isObject, own } from "../../state/object";

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

export interface Conversation {
  readonly uri: string;
  readonly agent: string;
  readonly title: string;
  readonly cwd: string;
  readonly place: string;
  readonly turns: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
  /** Whether another kernel has it open. */
  readonly isElsewhere: boolean;
  readonly isPinned: boolean;
  readonly isArchived: boolean;
  readonly hits: readonly Hit[];
}

export interface Hit {
  readonly number: number;
  readonly where: string;
  readonly before: string;
  readonly text: string;
  readonly after: string;
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

export interface PreviewTurn {
  readonly number: number;
  readonly prompt: string;
  readonly answer: string;
  readonly cut: boolean;
}

export interface Preview {
  readonly total: number;
  readonly turns: readonly PreviewTurn[];
}

export type Request = <T>(method: string, params: unknown) => Promise<T>;

/** One page of the list, from the `offset`th conversation on. */
export async function fetchList(request: Request, query: Query, offset: number, limit = PAGE): Promise<Listed> {
  const { search, scope, agent, show, days } = query;
  const answer = await request<unknown>("listSessions", {
    ...(search && { search }),
    ...(scope === "here" && { here: true }),
    ...(scope === "folder" && { folder: true }),
    ...(agent && { agent }),
    ...(show === "archived" ? { archived: true } : show && { state: show }),
    ...(days > 0 && { since: startOfDay(new Date(), days - 1).getTime() }),
    limit,
    offset,
  });
  if (!isObject(answer) || !Array.isArray(answer.sessions)) throw unreadable("listSessions");
  const elsewhere = new Set(Array.isArray(answer.elsewhere) ? answer.elsewhere : []);
  const hits = isObject(answer.hits) ? answer.hits : {};
  const conversations = (answer.sessions as unknown[]).flatMap((one) => {
    if (!isObject(one) || typeof one.uri !== "string" || typeof one.modifiedAt !== "number") return [];
    const { uri, modifiedAt } = one;
    const [agent, title, cwd, place] = [one.agent, one.title, one.cwd, one.place].map(text);
    const found = readHits(own(hits, uri));
    const marks = {
      isElsewhere: elsewhere.has(uri),
      isPinned: one.pinned === true,
      isArchived: one.archived === true,
    };
    return [{ uri, agent, title, cwd, place, turns: number(one.turns), modifiedAt, ...marks, hits: found }];
  }) as Conversation[];
  return {
    conversations,
    hasMore: answer.sessions.length >= limit,
    left: number(answer.left),
    note: text(answer.note),
  };
}

export async function fetchPreview(request: Request, channel: string): Promise<Preview> {
  const answer = await request<unknown>("previewSession", { channel });
  if (!isObject(answer) || !Array.isArray(answer.turns)) throw unreadable("previewSession");
  const turns = (answer.turns as unknown[]).flatMap((one) =>
    isObject(one)
      ? [{ number: number(one.number), prompt: text(one.prompt), answer: text(one.answer), cut: one.cut === true }]
      : [],
  );
  return { total: number(answer.total), turns };
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

export type Form = (typeof FORMS)[number][0];

export async function fetchDocument(request: Request, channel: string, form: Form): Promise<string> {
  const answer = await request<unknown>("exportSession", { channel, form });
  if (!isObject(answer) || typeof answer.text !== "string") throw unreadable("exportSession");
  return answer.text;
}

export interface Day {
  readonly name: string;
  readonly conversations: readonly Conversation[];
}

/** The pinned ones, then the others by the day on which something last happened, in the order given. */
export function byDay(conversations: readonly Conversation[], now: Date): Day[] {
  const days = new Map<string, { name: string; conversations: Conversation[] }>();
  for (const one of conversations) {
    const date = new Date(one.modifiedAt);
    const key = one.isPinned ? "" : date.toDateString();
    const day = days.get(key) ?? { name: one.isPinned ? "Pinned" : nameOf(date, now), conversations: [] };
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

function readHits(hits: unknown): Hit[] {
  if (!Array.isArray(hits)) return [];
  return (hits as unknown[]).flatMap((one) =>
    isObject(one)
      ? [
          {
            number: number(one.number),
            where: text(one.where),
            before: text(one.before),
            text: text(one.text),
            after: text(one.after),
          },
        ]
      : [],
  );
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const number = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);

function unreadable(method: string): Error {
  return new Error(`The kernel's answer to ${method} is not of the protocol. Update agentnb and restart the kernel.`);
}
