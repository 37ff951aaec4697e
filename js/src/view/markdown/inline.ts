/**
 * What stands in Markdown's lines: emphasis, code, links, pictures, addresses (CommonMark's delimiter algorithm, GitHub's
 * strike-through and bare addresses).
 */
import { linkTo, merged, trimmed } from "./addresses";
import { readReference, readTarget } from "./link-target";
import { fits, type Node, type Run, shorten, taken } from "./runs";
import type { Links, Token } from "./token";

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
    const found = bracket.active
      ? (readTarget(this.#src, this.#at + 1) ?? readReference(this.#src, this.#at + 1, label, this.#links))
      : undefined;
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

function charBefore(src: string, at: number): string {
  const low = src.charCodeAt(at - 1);
  return low >= 0xdc00 && low <= 0xdfff && at > 1 ? src.slice(at - 2, at) : (src[at - 1] as string);
}
