/** Markdown text to tokens (CommonMark, GitHub's tables, tasks and addresses), with bounds on what hostile text can cost. */
import { type Queue, readBlocks } from "./blocks";
import { readInline } from "./inline";
import type { Links, Token } from "./token";

/** Inline markup is not looked for in longer paragraphs: some of it costs the square of the length. */
const LONGEST_INLINE = 20_000;
/** More `>` or list marks than this before one line's text are not structure but an attack on the stack. */
const DEEP = /^(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])){24}/m;
const NESTED = /[[\]!]{60}|[*_~]{200}/;

export type { Links, Token };

export function noLinks(): Links {
  return Object.create(null) as Links;
}

export function copied(links: Links): Links {
  return Object.assign(noLinks(), links);
}

/** The block tokens of `text`; `links` are the definitions known so far and gets those found here. */
export function lex(text: string, links: Links = noLinks()): Token[] {
  if (text === "") return [];
  if (DEEP.test(text)) return [asText(text)];
  const queue: Queue = [];
  const tokens = readBlocks(text, links, queue);
  for (const { src, into } of queue) {
    if (hasInline(src)) readInline(src, links, into);
    else into.push({ type: "text", raw: src, text: src });
  }
  return tokens;
}

/** Whether inline markup is looked for in a paragraph's `text` at all. */
export function hasInline(text: string): boolean {
  return text.length <= LONGEST_INLINE && !NESTED.test(text);
}

function asText(text: string): Token {
  return { type: "plain", raw: text, text };
}
