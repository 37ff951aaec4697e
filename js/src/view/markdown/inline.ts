/**
 * What stands in Markdown's lines: emphasis, code, links, pictures, addresses (CommonMark's delimiter algorithm, GitHub's
 * strike-through and bare addresses).
 */
import { type Link, type Links, nameOf, type Token, unescaped } from "./token";

interface Node {
  token: Token | undefined;
  prev: Node | undefined;
  next: Node | undefined;
  run: Run | undefined;
}

/** A run of `*`, `_` or `~` that may open or close emphasis. */
interface Run {
  mark: string;
  length: number;
  first: number;
  opens: boolean;
  closes: boolean;
}

interface Bracket {
  node: Node;
  at: number;
  image: boolean;
  active: boolean;
}

const SPACE = /\s/;
const PUNCTUATION = /[\p{P}\p{S}]/u;
const PLAIN = /[^\\`*_~[\]!<\nhw]+|[hw]/y;
const AUTOLINK = /<(?:([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*)|([\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)*))>/y;
const TAG =
  /<(?:[A-Za-z][\w-]*(?:\s+[A-Za-z_:@][\w.:@-]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*\s*\/?|\/[A-Za-z][\w-]*\s*|![A-Za-z][^>]*)>/y;
const ENDS: [string, string][] = [
  ["<!--", "-->"],
  ["<![CDATA[", "]]>"],
  ["<?", "?>"],
];
const ADDRESS = /(?:https?:\/\/|www\.)[^\s<]+/y;
const MAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]*\w)+(?![-_\w])/g;
const DEEPEST_PARENTHESIS = 32;
const LONGEST_LABEL = 999;

export function readInline(src: string, links: Links, into: Token[]): void {
  into.push(...new Line(src, links).read());
}

class Line {
  #src: string;
  #links: Links;
  #at = 0;
  #first: Node = { token: undefined, prev: undefined, next: undefined, run: undefined };
  #last: Node = this.#first;
  #brackets: Bracket[] = [];
  /** Lengths of backticks, and marks, that close nowhere from here on. */
  #unclosed = new Set<unknown>();

  constructor(src: string, links: Links) {
    this.#src = src;
    this.#links = links;
  }

  read(): Token[] {
    while (this.#at < this.#src.length) this.#one(this.#src[this.#at] as string);
    this.#emphasize(this.#first);
    return merged(taken(this.#first.next));
  }

  #one(mark: string): void {
    if (mark === "\\") this.#backslash();
    else if (mark === "`") this.#code();
    else if (mark === "*" || mark === "_" || mark === "~") this.#run(mark);
    else if (mark === "[") this.#open(false);
    else if (mark === "!" && this.#src[this.#at + 1] === "[") this.#open(true);
    else if (mark === "]") this.#close();
    else if (mark === "<") this.#angle();
    else if (mark === "\n") this.#newline();
    else this.#plain();
  }

  #push(token: Token | undefined, run?: Run): Node {
    const node: Node = { token, prev: this.#last, next: undefined, run };
    this.#last.next = node;
    this.#last = node;
    return node;
  }

  #text(text: string): void {
    this.#at += text.length;
    this.#push({ type: "text", raw: text, text });
  }

  #plain(): void {
    if (this.#address()) return;
    PLAIN.lastIndex = this.#at;
    this.#text(PLAIN.exec(this.#src)?.[0] ?? (this.#src[this.#at] as string));
  }

  #backslash(): void {
    const next = this.#src[this.#at + 1] ?? "";
    if (next === "\n") {
      this.#at += 2;
      this.#skipSpaces();
      this.#push({ type: "br", raw: "\\\n" });
    } else if (/[!-/:-@[-`{-~]/.test(next)) {
      this.#at += 2;
      this.#push({ type: "escape", raw: `\\${next}`, text: next });
    } else this.#text("\\");
  }

  #newline(): void {
    const before = this.#last.token;
    const spaces = /[ \t]*$/.exec(before?.type === "text" ? before.raw : "")?.[0] ?? "";
    if (before?.type === "text" && spaces) before.text = before.raw.slice(0, before.raw.length - spaces.length);
    this.#at += 1;
    this.#skipSpaces();
    if (spaces.endsWith("  ")) this.#push({ type: "br", raw: "  \n" });
    else this.#push({ type: "text", raw: "\n", text: "\n" });
  }

  #skipSpaces(): void {
    while (this.#src[this.#at] === " " || this.#src[this.#at] === "\t") this.#at += 1;
  }

  #code(): void {
    const start = this.#at;
    let from = start;
    while (this.#src[from] === "`") from += 1;
    const length = from - start;
    let end = this.#unclosed.has(length) ? -1 : this.#src.indexOf("`", from);
    while (end >= 0) {
      let after = end;
      while (this.#src[after] === "`") after += 1;
      if (after - end === length) break;
      end = this.#src.indexOf("`", after);
    }
    if (end < 0) {
      this.#unclosed.add(length);
      return this.#text("`".repeat(length));
    }
    let text = this.#src.slice(from, end).replaceAll("\n", " ");
    if (/^ .*[^ ].* $/.test(text)) text = text.slice(1, -1);
    this.#at = end + length;
    this.#push({ type: "codespan", raw: this.#src.slice(start, this.#at), text });
  }

  #run(mark: string): void {
    const start = this.#at;
    let end = start;
    while (this.#src[end] === mark) end += 1;
    const before = start === 0 ? " " : charBefore(this.#src, start);
    const after = end >= this.#src.length ? " " : String.fromCodePoint(this.#src.codePointAt(end) as number);
    const [spaceAfter, spaceBefore] = [SPACE.test(after), SPACE.test(before)];
    const [markAfter, markBefore] = [PUNCTUATION.test(after), PUNCTUATION.test(before)];
    const left = !spaceAfter && (!markAfter || spaceBefore || markBefore);
    const right = !spaceBefore && (!markBefore || spaceAfter || markAfter);
    const word = mark === "_";
    const length = end - start;
    this.#at = end;
    const text = mark.repeat(length);
    const can = mark !== "~" || length <= 2;
    this.#push(
      { type: "text", raw: text, text },
      {
        mark,
        length,
        first: length,
        opens: can && left && (!word || !right || markBefore),
        closes: can && right && (!word || !left || markAfter),
      },
    );
  }

  /** Joins what opens and closes after `bottom`. */
  #emphasize(bottom: Node): void {
    const floors = new Map<string, Node>();
    let closer = bottom.next;
    while (closer) {
      const run = closer.run;
      if (!run?.closes) {
        closer = closer.next;
        continue;
      }
      const key = `${run.mark}${run.opens}${run.mark === "~" ? run.length : run.first % 3}`;
      const floor = floors.get(key) ?? bottom;
      let opener = closer.prev;
      while (opener && opener !== floor && opener !== bottom && !fits(opener.run, run)) opener = opener.prev;
      if (!opener || opener === floor || opener === bottom || !opener.run) {
        floors.set(key, closer.prev as Node);
        if (!run.opens) closer.run = undefined;
        closer = closer.next;
      } else closer = this.#join(opener, closer);
    }
    for (let node = bottom.next; node; node = node.next) node.run = undefined;
  }

  /** Wraps what is between two runs; returns where to go on. */
  #join(opener: Node, closer: Node): Node | undefined {
    const [from, to] = [opener.run as Run, closer.run as Run];
    const strike = to.mark === "~";
    const used = strike ? to.length : from.length >= 2 && to.length >= 2 ? 2 : 1;
    const first = opener.next === closer ? undefined : opener.next;
    if (first && closer.prev) closer.prev.next = undefined;
    const tokens = merged(taken(first));
    const node: Node = {
      token: { type: strike ? "del" : used === 2 ? "strong" : "em", raw: "", tokens },
      prev: opener,
      next: closer,
      run: undefined,
    };
    opener.next = node;
    closer.prev = node;
    shorten(opener, used);
    shorten(closer, used);
    if (from.length === 0) this.#drop(opener);
    if (to.length > 0) return closer;
    const next = closer.next;
    this.#drop(closer);
    return next;
  }

  #drop(node: Node): void {
    if (node.prev) node.prev.next = node.next;
    if (node.next) node.next.prev = node.prev;
    else this.#last = node.prev as Node;
  }

  #open(image: boolean): void {
    const at = this.#at;
    this.#text(image ? "![" : "[");
    this.#brackets.push({ node: this.#last, at, image, active: true });
  }

  #close(): void {
    const bracket = this.#brackets.pop();
    if (!bracket) return this.#text("]");
    const label = this.#src.slice(bracket.at + (bracket.image ? 2 : 1), this.#at);
    const found = bracket.active ? (this.#target(this.#at + 1) ?? this.#reference(label, this.#at + 1)) : undefined;
    if (!found) return this.#text("]");
    this.#at = found.end;
    const raw = this.#src.slice(bracket.at, found.end);
    this.#emphasize(bracket.node);
    const tokens = merged(taken(bracket.node.next));
    this.#last = bracket.node.prev as Node;
    this.#last.next = undefined;
    const type = bracket.image ? "image" : "link";
    this.#push({ type, raw, href: found.href, ...(found.title && { title: found.title }), text: label, tokens });
    if (!bracket.image) for (const outer of this.#brackets) if (!outer.image) outer.active = false;
  }

  /** `(address "title")` from `at` on. */
  #target(at: number): (Link & { end: number }) | undefined {
    const src = this.#src;
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

  #reference(label: string, at: number): (Link & { end: number }) | undefined {
    const full = /\[((?:\\[\s\S]|[^[\]\\])*)\]/y;
    full.lastIndex = at;
    const second = this.#src[at] === "[" ? full.exec(this.#src) : null;
    const name = second?.[1] ? second[1] : label;
    if (name.length > LONGEST_LABEL) return undefined;
    const key = nameOf(name);
    const link = Object.hasOwn(this.#links, key) ? this.#links[key] : undefined;
    return link && { ...link, end: second ? at + second[0].length : at };
  }

  #angle(): void {
    AUTOLINK.lastIndex = this.#at;
    const auto = AUTOLINK.exec(this.#src);
    if (auto) {
      this.#at += auto[0].length;
      const text = auto[1] ?? (auto[2] as string);
      return void this.#push(linkTo(auto[1] ?? `mailto:${auto[2]}`, text, auto[0]));
    }
    const raw = this.#rawHtml();
    if (raw === undefined) return this.#text("<");
    this.#at += raw.length;
    this.#push({ type: "html", raw, text: raw });
  }

  #rawHtml(): string | undefined {
    for (const [open, close] of ENDS) {
      if (!this.#src.startsWith(open, this.#at)) continue;
      const end = this.#unclosed.has(close) ? -1 : this.#src.indexOf(close, this.#at + open.length);
      if (end >= 0) return this.#src.slice(this.#at, end + close.length);
      this.#unclosed.add(close);
      return undefined;
    }
    TAG.lastIndex = this.#at;
    return TAG.exec(this.#src)?.[0];
  }

  /** A bare address, where a word begins. */
  #address(): boolean {
    const before = this.#at === 0 ? " " : (this.#src[this.#at - 1] as string);
    if (!/[\s*_~(]/.test(before)) return false;
    ADDRESS.lastIndex = this.#at;
    const found = ADDRESS.exec(this.#src)?.[0];
    const text = found && trimmed(found);
    if (!text || !/^(?:https?:\/\/[^\s/]|www\.[^\s.])/.test(text) || this.#isInLink()) return false;
    this.#at += text.length;
    this.#push(linkTo(text.startsWith("www.") ? `http://${text}` : text, text, text));
    return true;
  }

  /** Whether an open bracket makes a link: an address inside is its text. */
  #isInLink(): boolean {
    const open = this.#brackets.findLast((bracket) => bracket.active && !bracket.image);
    if (!open) return false;
    const close = this.#src.indexOf("]", this.#at);
    return close >= 0 && (this.#src[close + 1] === "(" || this.#src[close + 1] === "[");
  }
}

function fits(opener: Run | undefined, closer: Run): boolean {
  if (!opener?.opens || opener.mark !== closer.mark || opener.length === 0) return false;
  if (closer.mark === "~") return opener.length === closer.length;
  if (!opener.closes && !closer.opens) return true;
  return (opener.first + closer.first) % 3 !== 0 || (opener.first % 3 === 0 && closer.first % 3 === 0);
}

function shorten(node: Node, by: number): void {
  const run = node.run as Run;
  run.length -= by;
  const text = run.mark.repeat(run.length);
  node.token = { type: "text", raw: text, text };
}

function taken(first: Node | undefined): Token[] {
  const tokens: Token[] = [];
  for (let node = first; node; node = node.next) if (node.token) tokens.push(node.token);
  return tokens;
}

/** Neighbouring texts as one, with the mail addresses in them as links. */
function merged(tokens: Token[]): Token[] {
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

function linkTo(href: string, text: string, raw: string): Token {
  return { type: "link", raw, href, text, tokens: [{ type: "text", raw: text, text }] };
}

/** An address without the punctuation of the sentence around it. */
function trimmed(address: string): string {
  let text = address.replace(/(?:[?!.,:*_~'"]|&[a-zA-Z0-9]+;)+$/, "");
  while (text.endsWith(")") && text.split(")").length > text.split("(").length) {
    text = text.slice(0, -1).replace(/[?!.,:*_~'"]+$/, "");
  }
  return text;
}

function skipBlank(src: string, at: number): number {
  let end = at;
  while (end < src.length && SPACE.test(src[end] as string)) end += 1;
  return end;
}

function charBefore(src: string, at: number): string {
  const low = src.charCodeAt(at - 1);
  return low >= 0xdc00 && low <= 0xdfff && at > 1 ? src.slice(at - 2, at) : (src[at - 1] as string);
}
