/**
 * Turns Markdown text into tokens: marked's lexer (CommonMark and GitHub's extensions) with limits on its input.
 *
 * marked needs quadratic time or deep recursion for some texts: runs of marks, nested quotes, wide tables. An agent can
 * send any text, so a block beyond these limits becomes a `plain` token, which is drawn as text. Fenced code at the
 * margin is read here: it may be megabytes long and needs no lexer.
 */
import { Lexer, type Links } from "marked";
import { hasMath, mathOptions } from "./mathematics";
import type { Token } from "./token";

export type { Links, Token };

/** A longer paragraph, heading or table cell shows its marks as text. */
const LONGEST_INLINE = 8_000;
const INLINE_MARKS = /[*_~[\]!<]/g;
/** marked's time for inline text grows with the square of the number of marks: the most squares read per call. */
const INLINE_BUDGET = 500 ** 2;
/** A longer line is data, not Markdown. */
const LONGEST_LINE = 8_000;
/** Deeply nested containers: marked reads the inner text again for each level. */
const DEEP = /^(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])){12}|^[ \t]{60,}(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])/m;
/** marked fills each row up to the width of the header. */
const WIDE_TABLE = /^[ \t]*(?:\|?[ \t]*:?-+:?[ \t]*){60}/m;
const GROUP = /[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*(?:\n[ \t]*)*\n?|\s+/g;
const FENCE = /^(?:(`{3,})([^`\n]*)|(~{3,})([^\n]*))(?:\n|$)/gm;

export function noLinks(): Links {
  return Object.create(null) as Links;
}

export function copied(links: Links): Links {
  return Object.assign(noLinks(), links);
}

/** A lexer that keeps the inline text it reads: formulas are masked by their positions in that text. */
class MathLexer extends Lexer {
  inlineText = "";

  override inlineTokens(...args: Parameters<Lexer["inlineTokens"]>): ReturnType<Lexer["inlineTokens"]> {
    const around = this.inlineText;
    this.inlineText = args[0];
    try {
      return super.inlineTokens(...args);
    } finally {
      this.inlineText = around;
    }
  }
}

/**
 * Returns the block tokens of `text`; their `raw` strings together are `text`.
 *
 * `links` are the link definitions known so far; new ones are added. With `more`, an unclosed formula at the end, on
 * lines of its own, is one token.
 */
export function lex(text: string, links: Links = noLinks(), more = false): Token[] {
  const tokens: Token[] = [];
  const lexers: Lexer[] = [];
  const fence = new RegExp(FENCE);
  for (let from = 0; from < text.length; ) {
    fence.lastIndex = from;
    const opening = fence.exec(text);
    const end = opening?.index ?? text.length;
    if (end > from) tokens.push(...prose(text.slice(from, end), links, lexers, more && end === text.length));
    if (opening) tokens.push(fencedCode(text, opening));
    from = opening ? end + (tokens.at(-1) as Token).raw.length : end;
  }
  // Paragraphs are read last: a definition may come after the text that names it.
  let budget = INLINE_BUDGET;
  for (const lexer of lexers) budget = readInline(lexer, budget);
  return tokens;
}

/** Returns a pattern for the closing line of a fence that was opened with `mark`. */
export function closingFence(mark: string): RegExp {
  return new RegExp(`^ {0,3}${mark[0]}{${mark.length},}[ \\t]*$`, "gm");
}

function fencedCode(text: string, opening: RegExpExecArray): Token {
  const [head, ticks, info, tildes, otherInfo] = opening;
  const closing = closingFence((ticks ?? tildes) as string);
  const start = opening.index + head.length;
  closing.lastIndex = start;
  const closed = closing.exec(text);
  const end = closed ? closed.index : text.length;
  const whole = closed ? end + closed[0].length + (text[end + closed[0].length] === "\n" ? 1 : 0) : text.length;
  return {
    type: "code",
    raw: text.slice(opening.index, whole),
    text: text.slice(start, end).replace(/\n$/, ""),
    lang: (info ?? otherInfo ?? "").trim().replace(/\\([!-/:-@[-`{-~])/g, "$1"),
  };
}

function prose(text: string, links: Links, lexers: Lexer[], more: boolean): Token[] {
  if (!isCostly(text)) return readBlocks(text, links, lexers, more);
  const groups = text.match(GROUP) ?? [];
  return groups.flatMap((group) => (isCostly(group) ? [asText(group)] : readBlocks(group, links, lexers)));
}

function isCostly(text: string): boolean {
  return longestLine(text) > LONGEST_LINE || DEEP.test(text) || WIDE_TABLE.test(text);
}

function longestLine(text: string): number {
  let longest = 0;
  for (let from = 0; from <= text.length; ) {
    const end = text.indexOf("\n", from);
    longest = Math.max(longest, (end < 0 ? text.length : end) - from);
    if (end < 0) break;
    from = end + 1;
  }
  return longest;
}

function readBlocks(text: string, links: Links, lexers: Lexer[], more = false): Token[] {
  const lexer = hasMath(text) ? new MathLexer(mathOptions(more) as never) : new Lexer({ gfm: true });
  lexer.tokens.links = links;
  try {
    lexer.blockTokens(text, lexer.tokens);
  } catch {
    return [asText(text)]; // the stack was too small for its nesting
  }
  lexers.push(lexer);
  return lexer.tokens as Token[];
}

/** Reads the paragraphs of `lexer` within `budget`; returns the rest of the budget. */
function readInline(lexer: Lexer, budget: number): number {
  let left = budget;
  for (const { src, tokens } of lexer.inlineQueue) {
    left -= markCount(src) ** 2;
    if (left < 0 || !hasInline(src)) tokens.push({ type: "text", raw: src, text: src, escaped: false });
    else {
      lexer.state.inRawBlock = false;
      lexer.inlineTokens(src, tokens);
    }
  }
  return left;
}

/** True if a paragraph's `text` is short enough, with few enough marks, to read its inline marks. */
export function hasInline(text: string): boolean {
  return text.length <= LONGEST_INLINE && markCount(text) ** 2 <= INLINE_BUDGET;
}

function markCount(text: string): number {
  return text.match(INLINE_MARKS)?.length ?? 0;
}

export function asText(text: string): Token {
  return { type: "plain", raw: text, text };
}
