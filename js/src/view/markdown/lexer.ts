/** Markdown text to tokens (CommonMark + GFM by marked's lexer), with bounds on what hostile text can cost. */
import { Lexer, type Links, type Token, type TokensList } from "marked";

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
  const lexer = new Lexer({ gfm: true });
  lexer.tokens.links = links;
  try {
    return inlined(lexer, lexer.blockTokens(text, lexer.tokens) as TokensList);
  } catch {
    return [asText(text)];
  }
}

/** Whether inline markup is looked for in a paragraph's `text` at all. */
export function hasInline(text: string): boolean {
  return text.length <= LONGEST_INLINE && !NESTED.test(text);
}

function inlined(lexer: Lexer, tokens: TokensList): Token[] {
  const queue = lexer.inlineQueue;
  for (let at = 0; at < queue.length; at += 1) {
    const { src, tokens: into } = queue[at] as { src: string; tokens: Token[] };
    lexer.state.inRawBlock = false;
    if (!hasInline(src)) into.push({ type: "text", raw: src, text: src } as Token);
    else lexer.inlineTokens(src, into);
  }
  lexer.inlineQueue = [];
  return tokens;
}

function asText(text: string): Token {
  return { type: "plain", raw: text, text } as Token;
}
