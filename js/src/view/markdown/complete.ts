/**
 * Completes half-written Markdown for display, so that a stream never flashes raw marks.
 *
 * `**Wh` is drawn bold at once, half a link as its text, a table as a table from its first row, and a line with only
 * marks (`#`, `- `, `2.`, `|--`) waits until its meaning is clear. The guess is for display only; the text itself is
 * lexed unchanged when the block closes.
 */

import { hasInline } from "./lexer";
import { asSource, mathAt, openMathAt } from "./mathematics";

const ONLY_MARKS = /^[ \t>]*(?:[-*+]|\d{1,9}[.)]?)?[ \t]*(?:\[[ xX]?\]?)?[=\-*_~`#|:+>\s]*$/;
const FENCE_LINE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})/;
const LONGEST_MARKS = 200;
const LONGEST_TABLE_HEAD = 4_000;
const BOUNDARY = /^[ \t]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|\|)/;

/** Returns `raw` (the last block, still open) with all its open marks closed. */
export function complete(raw: string): string {
  const cut = raw.lastIndexOf("\n") + 1;
  let head = raw.slice(0, cut);
  let last = raw.slice(cut);
  if (insideFence(head)) return /^[ \t>]*[`~]*$/.test(last) ? head : raw;
  const math = openMathAt(raw);
  if (math >= 0) return raw.slice(0, math) + asSource(raw.slice(math));
  // A longer line has words, and the pattern needs cubic time for spaces.
  if (last.length < LONGEST_MARKS && (FENCE_LINE.test(last) || ONLY_MARKS.test(last))) last = "";
  if (last === "") head = head.replace(/\n+$/, "");
  const text = head + last;
  const start = segmentStart(text);
  const segment = text.slice(start);
  const closed = closeInline(segment);
  return text.slice(0, start) + (isTableHead(text, start) ? `${closed}\n${delimiterRow(closed)}` : closed);
}

/** True if the last line of `head` is inside an open fence. */
export function insideFence(head: string): boolean {
  let fence: string | undefined;
  for (const line of head.split("\n")) {
    const mark = FENCE_LINE.exec(line)?.[1];
    if (mark === undefined) continue;
    if (fence === undefined) fence = mark;
    else if (mark[0] === fence[0] && mark.length >= fence.length) fence = undefined;
  }
  return fence !== undefined;
}

function segmentStart(text: string): number {
  let start = 0;
  for (let end = text.lastIndexOf("\n"); end > 0; ) {
    const before = text.lastIndexOf("\n", end - 1);
    if (before >= 0 && /^[ \t]*$/.test(text.slice(before + 1, end))) {
      start = end + 1;
      break;
    }
    end = before;
  }
  for (let at = text.indexOf("\n", start); at >= 0; at = text.indexOf("\n", at + 1)) {
    if (BOUNDARY.test(text.slice(at + 1, at + 80))) start = at + 1;
  }
  return start;
}

function isTableHead(text: string, start: number): boolean {
  if (text.length - start > LONGEST_TABLE_HEAD) return false;
  if (!/^ {0,3}\|[^\n]*\S[^\n]*$/.test(text.slice(start))) return false;
  const before = text.slice(0, Math.max(0, start - 1));
  return !/^ {0,3}\|/.test(before.slice(before.lastIndexOf("\n") + 1));
}

function delimiterRow(header: string): string {
  const inner = header
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  const cells = inner.split(/(?<!\\)\|/).length;
  return `|${"---|".repeat(cells)}`;
}

interface Open {
  mark: string;
  length: number;
}

/** Returns the text of one paragraph with its open emphasis, code span and link closed. */
export function closeInline(source: string): string {
  if (!hasInline(source)) return source;
  const stack: Open[] = [];
  let text = source.replace(/<(?:|h|ht|htt|https?|https?:[^\s<>]*|mailto:[^\s<>]*)$/, "").replace(/&#?\w*$/, "");
  let at = 0;
  while (at < text.length) {
    const mark = text[at] as string;
    const math = mark === "$" || mark === "\\" ? mathAt(text.slice(at), text[at - 1]) : undefined;
    if (math) {
      at += math.raw.length;
      // A digit may follow: then it is an amount of money.
      if (at === text.length && /^\$\d/.test(math.raw)) return finish(text.slice(0, -1), stack) + asSource("$");
    } else if (/^(?:\$\$|\\[([])/.test(text.slice(at, at + 2))) {
      return text.slice(0, at) + asSource(text.slice(at).trimEnd()) + closers(stack);
    } else if (mark === "\\") {
      if (at + 1 >= text.length) text = text.slice(0, at);
      at += 2;
    } else if (mark === "`") {
      const length = runLength(text, at);
      const end = closingTicks(text, at + length, length);
      if (end < 0) {
        const body = text.slice(at + length).replace(/`+$/, "");
        if (body.trim() === "") return finish(text.slice(0, at), stack);
        return text.slice(0, at + length) + body + "`".repeat(length) + closers(stack);
      }
      at = end;
    } else if (mark === "[") {
      const link = readLink(text, at);
      if (link.whole) at = link.end;
      else {
        const image = text[at - 1] === "!";
        const before = image ? text.slice(0, at - 1) : text.slice(0, at);
        text = image ? before : before + link.label;
        at = before.length;
      }
    } else if (mark === "*" || mark === "_" || mark === "~") {
      at = readRun(text, at, stack);
      if (at < 0) return finish(text.replace(/[*_~]+$/, ""), stack);
    } else at += 1;
  }
  return finish(text, stack);
}

/** Closing marks count only right after a letter: open text may not end in a space. */
function finish(text: string, stack: Open[]): string {
  return stack.length > 0 ? text.trimEnd() + closers(stack) : text;
}

function closers(stack: Open[]): string {
  return [...stack]
    .reverse()
    .map((open) => open.mark.repeat(open.length))
    .join("");
}

function runLength(text: string, at: number): number {
  let end = at;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

function closingTicks(text: string, from: number, length: number): number {
  for (let at = text.indexOf("`", from); at >= 0; at = text.indexOf("`", at)) {
    const run = runLength(text, at);
    if (run === length) return at + run;
    at += run;
  }
  return -1;
}

const SPACE = /\s/;
const PUNCTUATION = /[\p{P}\p{S}]/u;

/** Reads a run of `*`, `_` or `~`; returns where it ends, or -1 when it opens at the very end of the text. */
function readRun(text: string, at: number, stack: Open[]): number {
  const mark = text[at] as string;
  let length = runLength(text, at);
  const end = at + length;
  const before = at === 0 ? " " : (text[at - 1] as string);
  const after = end >= text.length ? " " : (text[end] as string);
  const left = !SPACE.test(after) && (!PUNCTUATION.test(after) || SPACE.test(before) || PUNCTUATION.test(before));
  const right = !SPACE.test(before) && (!PUNCTUATION.test(before) || SPACE.test(after) || PUNCTUATION.test(after));
  const closes = mark === "_" ? right && (!left || PUNCTUATION.test(after)) : right;
  const opens = left && (!right || PUNCTUATION.test(before));
  if (closes) {
    for (let top = stack.at(-1); length > 0 && top?.mark === mark; top = stack.at(-1)) {
      const taken = Math.min(length, top.length);
      top.length -= taken;
      length -= taken;
      if (top.length === 0) stack.pop();
    }
  }
  if (length > 0 && end >= text.length) return -1;
  if (length > 0 && opens && length <= 3) stack.push({ mark, length });
  return end;
}

interface Link {
  whole: boolean;
  end: number;
  label: string;
}

/** Reads from a `[`: a whole link (or plain brackets), or its label so far. */
function readLink(text: string, at: number): Link {
  const close = closingAt(text, at, "[", "]");
  if (close < 0) return { whole: false, end: text.length, label: text.slice(at + 1) };
  const label = text.slice(at + 1, close);
  const next = text[close + 1];
  if (next !== undefined && next !== "(" && next !== "[") return { whole: true, end: close + 1, label };
  const isTarget = next === "(";
  const end = isTarget ? closingAt(text, close + 1, "(", ")", "\n") : next ? text.indexOf("]", close + 2) : -1;
  return end < 0 ? { whole: false, end: text.length, label } : { whole: true, end: end + 1, label };
}

/** Returns the index of the bracket that closes the one at `at`, before any `end`; -1 if there is none. */
function closingAt(text: string, at: number, open: string, close: string, end?: string): number {
  let depth = 0;
  for (let i = at; i < text.length && text[i] !== end; i += 1) {
    const mark = text[i];
    if (mark === "\\") i += 1;
    else if (mark === open) depth += 1;
    else if (mark === close && --depth === 0) return i;
  }
  return -1;
}
