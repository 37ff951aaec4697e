/** Where a link or a picture in a line leads: an address in parentheses, or a definition by its name. */
import { type Link, type Links, nameOf, unescaped } from "./token";

const SPACE = /\s/;
const DEEPEST_PARENTHESIS = 32;
const LONGEST_LABEL = 999;

export type Target = Link & { end: number };

/** `(address "title")` from `at` on. */
export function readTarget(src: string, at: number): Target | undefined {
  if (src[at] !== "(") return undefined;
  let end = skipBlank(src, at + 1);
  let href = "";
  if (src[end] === "<") {
    const close = /<((?:\\.|[^<>\n\\])*)>/y;
    close.lastIndex = end;
    const found = close.exec(src);
    if (!found) return undefined;
    href = found[1] as string;
    end += found[0].length;
  } else {
    const from = end;
    for (let depth = 0; end < src.length && !SPACE.test(src[end] as string); end += 1) {
      if (src[end] === "\\") end += 1;
      else if (src[end] === "(" && ++depth > DEEPEST_PARENTHESIS) return undefined;
      else if (src[end] === ")" && --depth < 0) break;
    }
    href = src.slice(from, end);
  }
  const gap = skipBlank(src, end);
  let title: string | undefined;
  if (gap > end) {
    const quoted = /"((?:\\[\s\S]|[^"\\])*)"|'((?:\\[\s\S]|[^'\\])*)'|\(((?:\\[\s\S]|[^()\\])*)\)/y;
    quoted.lastIndex = gap;
    const found = quoted.exec(src);
    title = found ? (found[1] ?? found[2] ?? found[3]) : undefined;
    end = skipBlank(src, found ? gap + found[0].length : gap);
  }
  if (src[end] !== ")") return undefined;
  return { href: unescaped(href), title: title && unescaped(title), end: end + 1 };
}

/** The definition that `[name]` at `at`, or else the label before it, stands for. */
export function readReference(src: string, at: number, label: string, links: Links): Target | undefined {
  const full = /\[((?:\\[\s\S]|[^[\]\\])*)\]/y;
  full.lastIndex = at;
  const second = src[at] === "[" ? full.exec(src) : null;
  const name = second?.[1] ? second[1] : label;
  if (name.length > LONGEST_LABEL) return undefined;
  const key = nameOf(name);
  const link = Object.hasOwn(links, key) ? links[key] : undefined;
  return link && { ...link, end: second ? at + second[0].length : at };
}

function skipBlank(src: string, at: number): number {
  let end = at;
  while (end < src.length && SPACE.test(src[end] as string)) end += 1;
  return end;
}
