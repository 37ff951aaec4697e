/** Addresses that stand bare in a text: of pages and of mail. */
import type { Token } from "./token";

const MAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]*\w)+(?![-_\w])/g;

/** Neighbouring texts as one, with the mail addresses in them as links. */
export function merged(tokens: Token[]): Token[] {
  const found: Token[] = [];
  for (const token of tokens) {
    const last = found.at(-1);
    if (token.type === "text" && token.text === "") continue;
    if (token.type === "text" && last?.type === "text") {
      last.text = `${last.text}${token.text}`;
      last.raw += token.raw;
    } else found.push(token.type === "text" ? { ...token } : token);
  }
  return found.flatMap((token) => (token.type === "text" && token.text?.includes("@") ? mails(token.text) : [token]));
}

function mails(text: string): Token[] {
  const found: Token[] = [];
  let from = 0;
  const push = (piece: string) => piece && found.push({ type: "text", raw: piece, text: piece });
  for (const match of text.matchAll(MAIL)) {
    push(text.slice(from, match.index));
    found.push(linkTo(`mailto:${match[0]}`, match[0], match[0]));
    from = match.index + match[0].length;
  }
  push(text.slice(from));
  return found;
}

export function linkTo(href: string, text: string, raw: string): Token {
  return { type: "link", raw, href, text, tokens: [{ type: "text", raw: text, text }] };
}

/** An address without the punctuation of the sentence around it. */
export function trimmed(address: string): string {
  let text = address.replace(/(?:[?!.,:*_~'"]|&[a-zA-Z0-9]+;)+$/, "");
  while (text.endsWith(")") && text.split(")").length > text.split("(").length) {
    text = text.slice(0, -1).replace(/[?!.,:*_~'"]+$/, "");
  }
  return text;
}
