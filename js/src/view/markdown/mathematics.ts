/**
 * Finds mathematics in Markdown: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`.
 *
 * A dollar sign can also mean money. So `$…$` is a formula only if no space is next to a sign on the inside, no digit
 * follows the last sign, and it is not an amount with words (`$5 or US$6`).
 */

import type { Lexer } from "marked";
import { table } from "../../state/object";
import type { Token } from "./token";

/** Longer formulas stay text, in characters and in lines; less than the limits at which a streaming block is cut. */
const LONGEST = 5_000;
const MOST_LINES = 100;
const OPENING = /^(?:\$\$?|\\[([])/;
const ANY_OPENING = /\$|\\[([]/g;
const BLOCK = /^ {0,3}(?=\$\$|\\\[)/;
const BLANK_LINE = /\n[ \t]*\n/;
const AMOUNT = /^[\d.,]+[^\\{}^_=]*(?:\s[a-zA-Z]{2}|[A-Z]{2}$)/;
const CLOSING: Record<string, string> = table({ $: "$", $$: "$$", "\\(": "\\)", "\\[": "\\]" });

/** True if a formula may begin in `text`. */
export function hasMath(text: string): boolean {
  return text.search(ANY_OPENING) >= 0;
}

/** Returns the formula at the start of `text` if it is closed; `before` is the character before it. */
export function mathAt(text: string, before = ""): Token | undefined {
  const open = OPENING.exec(text)?.[0];
  if (open === undefined) return undefined;
  const close = CLOSING[open] as string;
  const end = closingAt(text, open.length, close);
  if (end < 0) return undefined;
  const source = text.slice(open.length, end);
  if (source.trim() === "" || BLANK_LINE.test(source) || source.split("\n", MOST_LINES + 1).length > MOST_LINES)
    return undefined;
  if (open === "$" && !isFormula(source, before, text.slice(end + 1, end + 5))) return undefined;
  const raw = text.slice(0, end + close.length);
  return { type: "math", raw, text: source, isDisplay: open === "$$" || open === "\\[" };
}

function isFormula(source: string, before: string, after: string): boolean {
  if (/^\s|\s$|`/.test(source) || AMOUNT.test(source)) return false;
  if (!/^(?:\W|$|(?:th|st|nd|rd|s)\b)/.test(after)) return false;
  return !/[a-zA-Z0-9$]/.test(before) || /^[\\^_{]/.test(source);
}

/** Returns the index of the first `close` that no backslash escapes; -1 if there is none nearby. */
function closingAt(text: string, from: number, close: string): number {
  for (let at = text.indexOf(close, from); at >= 0 && at - from <= LONGEST; at = text.indexOf(close, at + 1)) {
    let slashes = 0;
    while (at - slashes > from && text[at - slashes - 1] === "\\") slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}

/** Returns the multi-line formula that `text` begins with, to its last line's end; `"open"` if that may still come. */
function blockAt(text: string): Token | "open" | undefined {
  const indent = BLOCK.exec(text)?.[0];
  if (indent === undefined) return undefined;
  const near = text.slice(indent.length, indent.length + 2 * LONGEST);
  const math = mathAt(near);
  if (math?.raw.includes("\n")) return math;
  const isOpen = !math && closingAt(near, 2, CLOSING[near.slice(0, 2)] as string) < 0 && near.length <= LONGEST;
  return isOpen && !BLANK_LINE.test(near) ? "open" : undefined;
}

/** Returns the start of an unfinished formula at the end of `text`, on lines of its own; -1 if there is none. */
export function openMathAt(text: string): number {
  for (let at = text.search(/^ {0,3}(?:\$\$|\\\[)/m); at >= 0; ) {
    const block = blockAt(text.slice(at));
    if (block === "open") return at;
    const next = text.indexOf("\n", at + (block?.raw.length ?? 1));
    const offset = next < 0 ? -1 : text.slice(next + 1).search(/^ {0,3}(?:\$\$|\\\[)/m);
    at = offset < 0 ? -1 : next + 1 + offset;
  }
  return -1;
}

/** Returns `text` escaped, so that Markdown shows it unchanged. */
export function asSource(text: string): string {
  return text.replace(/[^a-zA-Z0-9\s]/gu, (mark) => `&#${mark.codePointAt(0)};`);
}

/** Returns marked's options for reading formulas; `more` is true if the text may still grow. */
export function mathOptions(more: boolean) {
  return {
    gfm: true,
    extensions: {
      renderers: {},
      childTokens: {},
      inline: [(text: string, tokens: Token[]) => mathAt(text, tokens.at(-1)?.raw.at(-1))],
      startInline: [(text: string) => text.search(ANY_OPENING)],
      block: [
        function (this: { lexer: Lexer }, text: string, tokens: Token[]): Token | undefined {
          const math = blockAt(text);
          if (math === "open")
            return more && tokens === (this.lexer.tokens as unknown)
              ? { ...mathBlock(text, []), open: true }
              : undefined;
          if (!math) return undefined;
          const indent = text.length - text.trimStart().length;
          const end = text.indexOf("\n", indent + math.raw.length);
          const raw = end < 0 ? text : text.slice(0, end + 1);
          const rest = raw.slice(indent + math.raw.length).trimEnd();
          const inside = [math];
          if (rest) this.lexer.inlineQueue.push({ src: rest, tokens: inside as never });
          return mathBlock(raw, inside);
        },
      ],
      startBlock: [startOfBlock],
    },
    hooks: {
      emStrongMask(this: { lexer: Lexer & { inlineText?: string } }, masked: string): string {
        return withoutMath(masked, this.lexer.inlineText ?? "");
      },
    },
  };
}

function mathBlock(raw: string, tokens: Token[]): Token {
  return { type: "mathBlock", raw, text: raw, tokens };
}

/** Returns the start of the first line in a paragraph that may begin a formula of several lines. */
function startOfBlock(text: string): number {
  for (let at = text.indexOf("\n"); at >= 0; ) {
    if (BLOCK.test(text.slice(at + 1, at + 6))) return at + 1;
    const next = text.indexOf("\n", at + 1);
    if (next >= 0 && text.slice(at + 1, next).trim() === "") return -1;
    at = next;
  }
  return -1;
}

/** Hides the formulas of `text` in `masked`: their stars and underscores mark no emphasis. Code is masked already. */
function withoutMath(masked: string, text: string): string {
  if (masked.length !== text.length) return masked;
  let hidden = "";
  ANY_OPENING.lastIndex = 0;
  for (let match = ANY_OPENING.exec(text); match; match = ANY_OPENING.exec(text)) {
    const at = match.index;
    const isThere = masked[at] === text[at] || masked[at] === "+"; // an escaped mark is `++`
    const math = isThere ? mathAt(text.slice(at, at + 2 * LONGEST), text[at - 1]) : undefined;
    if (!math) continue;
    hidden += masked.slice(hidden.length, at + 1) + "a".repeat(math.raw.length - 2) + math.raw.at(-1);
    ANY_OPENING.lastIndex = at + math.raw.length;
  }
  return hidden + masked.slice(hidden.length);
}
