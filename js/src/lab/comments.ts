/** Comments on cell lines for the next message: kept in the browser tab like drafts, never in the notebook. */
import { store, stored } from "../view/storage";

const PREFIX = "agentnb comments ";
const SAVE_AFTER = 400;
export const LONGEST_COMMENT = 10_000;
const LONGEST_QUOTE = 4_000;
/** Characters per message; the rest waits for the next. */
export const LONGEST_MESSAGE = 100_000;
const MOST_NAMED = 4;

export interface CellComment {
  readonly id: string;
  readonly cellId: string;
  /** Lines of the cell when the comment was written, from 1. */
  readonly first: number;
  readonly last: number;
  /** The lines' text then. */
  readonly quote: string;
  readonly text: string;
}

/** A comment's place in the cell's current text. */
export interface CommentPlace {
  readonly first: number;
  readonly last: number;
  readonly isChanged: boolean;
}

export interface CommentedCell {
  /** `[2]`, or `cell 3` without a number. */
  readonly name: string;
  readonly lines: readonly string[];
}

/** The cells with comments in their current state, by id; without deleted cells. */
export type Cells = ReadonlyMap<string, CommentedCell>;

/** Returns a comment's lines: where they were, else the nearest equal lines, else where they were. */
export function placeOf({ first, quote }: CellComment, lines: readonly string[]): CommentPlace {
  const quoted = quote.split("\n");
  const fits = (at: number): boolean => quoted.every((line, index) => lines[at + index] === line);
  const place = (at: number, isChanged = false): CommentPlace => ({
    first: at + 1,
    last: Math.min(at + quoted.length, Math.max(1, lines.length)),
    isChanged,
  });
  for (let far = 0; far < lines.length + first; far++) {
    for (const at of far ? [first - 1 - far, first - 1 + far] : [first - 1])
      if (at >= 0 && at + quoted.length <= lines.length && fits(at)) return place(at);
  }
  return place(Math.min(first, lines.length) - 1, true);
}

export class Comments {
  #path: string;
  #all: readonly CellComment[];
  #taken: readonly CellComment[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(path: string) {
    this.#path = path;
    const all = stored<unknown>(PREFIX + path);
    this.#all = Array.isArray(all) ? all.filter((one): one is CellComment => typeof one?.quote === "string") : [];
  }

  get all(): readonly CellComment[] {
    return this.#all;
  }

  of(cellId: string): CellComment[] {
    return this.#all.filter((one) => one.cellId === cellId);
  }

  put(comment: CellComment): void {
    const quote = comment.quote.slice(0, LONGEST_QUOTE);
    const last = comment.first + quote.split("\n").length - 1;
    const made = { ...comment, quote, last, text: comment.text.slice(0, LONGEST_COMMENT) };
    const isKnown = this.#all.some(({ id }) => id === made.id);
    this.#set(isKnown ? this.#all.map((one) => (one.id === made.id ? made : one)) : [...this.#all, made]);
  }

  remove(...ids: readonly string[]): void {
    const gone = new Set(ids);
    this.#set(this.#all.filter(({ id }) => !gone.has(id)));
  }

  /** Takes out and returns the comments that go with a message; undefined if there are none. */
  take(cells: Cells): { label: string; text: string } | undefined {
    const { taken, text } = forAgent(this.#all, cells);
    this.#taken = taken;
    if (!taken.length) return undefined;
    const whole = taken.length < this.#all.length ? ` of ${this.#all.length.toLocaleString("en")}` : "";
    const label = summary(taken, cells, whole);
    this.remove(...taken.map(({ id }) => id));
    return { label, text };
  }

  /** Restores the taken comments if the message was not sent. */
  giveBack(): void {
    const back = this.#taken.filter(({ id }) => !this.#all.some((one) => one.id === id));
    this.#taken = [];
    if (back.length) this.#set([...back, ...this.#all]);
  }

  /** Called when the notebook was renamed. */
  moveTo(path: string): void {
    store(PREFIX + this.#path, undefined);
    this.#path = path;
    this.#save();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Saves unsaved changes at once. */
  save(): void {
    if (this.#timer !== undefined) this.#save();
  }

  #save(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    store(PREFIX + this.#path, this.#all.length ? this.#all : undefined);
  }

  #set(all: readonly CellComment[]): void {
    this.#all = all;
    this.#timer ??= setTimeout(() => this.#save(), SAVE_AFTER);
    for (const listener of this.#listeners) listener();
  }
}

/** "3 comments on [2], [5]". */
export function summary(comments: readonly CellComment[], cells: Cells, whole = ""): string {
  const names = [...new Set(comments.map(({ cellId }) => cells.get(cellId)?.name ?? "a deleted cell"))];
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  const count = comments.length.toLocaleString("en");
  return `${count}${whole} ${comments.length === 1 && !whole ? "comment" : "comments"} on ${names.slice(0, MOST_NAMED).join(", ")}${more}`;
}

export const lineWords = (first: number, last: number): string =>
  first === last ? `line ${first}` : `lines ${first}–${last}`;

/** Returns the comments for the agent, as many as one message takes. */
function forAgent(comments: readonly CellComment[], cells: Cells) {
  const taken: CellComment[] = [];
  const texts = ["The user's comments on cells of the notebook:"];
  let length = 0;
  for (const comment of comments) {
    const text = described(comment, cells.get(comment.cellId));
    if (taken.length && length + text.length > LONGEST_MESSAGE) break;
    length += text.length;
    taken.push(comment);
    texts.push(text);
  }
  return { taken, text: texts.join("\n\n") };
}

function described(comment: CellComment, cell: CommentedCell | undefined): string {
  const { cellId, quote, text } = comment;
  const { name = undefined, lines = undefined } = cell ?? {};
  const place = lines ? placeOf(comment, lines) : comment;
  const where = `${name ?? "A cell that was deleted since"} (cell id ${cellId}), ${lineWords(place.first, place.last)}`;
  const messageLines = [`${where}:`, ...quote.split("\n").map((line) => `> ${line}`)];
  if (lines && "isChanged" in place && place.isChanged) {
    const now = lines.slice(place.first - 1, place.last).map((line) => `> ${line}`);
    messageLines.push(
      `The ${place.first === place.last ? "line has" : "lines have"} changed since. There is now:`,
      ...now,
    );
  }
  return [...messageLines, `Comment: ${text}`].join("\n");
}
