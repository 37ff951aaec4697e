/**
 * Markdown's blocks (CommonMark, and the tables and tasks of GitHub): each line is looked at once, containers are read
 * again inside. What stands in the lines is left to `inline`: it may need definitions that come later.
 */
import { Body } from "./container";
import {
  BLANK,
  cells,
  FENCE,
  HEADING,
  HTML,
  ITEM,
  indentOf,
  interrupts,
  lazy,
  QUOTE,
  RULE,
  stripped,
  UNDERLINE,
} from "./lines";
import { type Align, type Links, nameOf, type Token, unescaped } from "./token";

/** Text to be read by `inline` once all definitions are known, and where its tokens go. */
export type Queue = { src: string; into: Token[] }[];

const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const TASK = /^\[([ xX])\][ \t]+(?=\S)/;
const HTML_ENDS = [/<\/(?:script|pre|style|textarea)>/i, /-->/, /\?>/, />/, /\]\]>/];
const TAG_ALONE =
  /^ {0,3}<(?:[A-Za-z][\w-]*(?:[ \t]+[\w:@.-]+(?:[ \t]*=[ \t]*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*[ \t]*\/?|\/[A-Za-z][\w-]*[ \t]*)>[ \t]*$/;
const DEFINITION =
  /^ {0,3}\[((?:\\[\s\S]|[^[\]\\])+)\]:[ \t]*(?:\n[ \t]*)?(<(?:\\.|[^<>\n\\])*>|[^\s<]\S*)(?:(?:[ \t]+|[ \t]*\n[ \t]*)("(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|\((?:\\[\s\S]|[^()\\])*\)))?[ \t]*(?:\n|$)/;
const LONGEST_DEFINITION = 8;
const LONGEST_TAG = 1000;
const DEEPEST = 40;

/** The blocks of `text`; definitions are put into `links`. */
export function readBlocks(text: string, links: Links, queue: Queue, depth = 0): Token[] {
  return new Reader(text, links, queue, depth).read();
}

class Reader {
  #lines: string[];
  #isEnded: boolean;
  #links: Links;
  #queue: Queue;
  #depth: number;
  #at = 0;

  constructor(text: string, links: Links, queue: Queue, depth: number) {
    this.#lines = text.split("\n");
    this.#isEnded = this.#lines.at(-1) === "";
    if (this.#isEnded) this.#lines.pop();
    this.#links = links;
    this.#queue = queue;
    this.#depth = depth;
  }

  read(): Token[] {
    const tokens: Token[] = [];
    while (this.#at < this.#lines.length) {
      const from = this.#at;
      const token = this.#block(this.#lines[from] as string);
      token.raw = this.#raw(from);
      tokens.push(token);
    }
    return tokens;
  }

  #raw(from: number): string {
    const end = this.#at < this.#lines.length || this.#isEnded ? "\n" : "";
    return this.#lines.slice(from, this.#at).join("\n") + end;
  }

  #block(line: string): Token {
    if (BLANK.test(line)) return this.#space();
    if (indentOf(line) >= 4) return this.#indented();
    const fence = FENCE.exec(line);
    if (fence) return this.#fenced(fence);
    const heading = HEADING.exec(line);
    if (heading) return this.#heading(line, heading);
    if (RULE.test(line)) return this.#take("hr");
    if (this.#depth < DEEPEST) {
      if (QUOTE.test(line)) return this.#quote();
      if (ITEM.test(line)) return this.#list();
    }
    const html = HTML.exec(line);
    if (html || (line.includes("<") && line.length < LONGEST_TAG && TAG_ALONE.test(line))) return this.#html(html);
    return this.#definition(line) ?? this.#table(line) ?? this.#paragraph();
  }

  #take(type: string): Token {
    this.#at += 1;
    return { type, raw: "" };
  }

  #lined(type: string, text: string, more: Partial<Token> = {}): Token {
    const tokens: Token[] = [];
    this.#queue.push({ src: text, into: tokens });
    return { type, raw: "", text, tokens, ...more };
  }

  #space(): Token {
    while (this.#at < this.#lines.length && BLANK.test(this.#lines[this.#at] as string)) this.#at += 1;
    return { type: "space", raw: "" };
  }

  #indented(): Token {
    const from = this.#at;
    let end = from;
    for (; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#lines[this.#at] as string;
      if (BLANK.test(line)) continue;
      if (indentOf(line) < 4) break;
      end = this.#at + 1;
    }
    this.#at = end;
    const text = this.#lines.slice(from, end).map((line) => stripped(line, 4));
    return { type: "code", raw: "", text: text.join("\n") };
  }

  #fenced([, indent = "", mark = "", info = ""]: RegExpExecArray): Token {
    const closing = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}[ \\t]*$`);
    const body: string[] = [];
    for (this.#at += 1; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#lines[this.#at] as string;
      if (closing.test(line)) {
        this.#at += 1;
        break;
      }
      body.push(stripped(line, indent.length));
    }
    return { type: "code", raw: "", text: body.join("\n"), lang: unescaped(info.trim()) };
  }

  #heading(line: string, [whole, marks = ""]: RegExpExecArray): Token {
    this.#at += 1;
    const text = line
      .slice(whole.length)
      .trim()
      .replace(/(^|[ \t])#+$/, "")
      .trimEnd();
    return this.#lined("heading", text, { depth: marks.length });
  }

  #quote(): Token {
    const body = new Body();
    for (; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#lines[this.#at] as string;
      if (QUOTE.test(line)) body.push(line.replace(QUOTE, "").replace(/^ |^\t/, (mark) => (mark === "\t" ? "  " : "")));
      else if (body.takes(line)) body.push(lazy(line));
      else break;
    }
    return { type: "blockquote", raw: "", tokens: this.#inside(body) };
  }

  #inside(body: Body): Token[] {
    return readBlocks(`${body.lines.join("\n")}\n`, this.#links, this.#queue, this.#depth + 1);
  }

  #list(): Token {
    const [, , mark = ""] = ITEM.exec(this.#lines[this.#at] as string) as RegExpExecArray;
    const kind = mark.at(-1);
    const items: Token[] = [];
    let loose = false;
    let end = this.#at;
    while (this.#at < this.#lines.length) {
      const line = this.#lines[this.#at] as string;
      const item = ITEM.exec(line);
      if (item?.[2]?.at(-1) !== kind || RULE.test(line)) break;
      loose ||= items.length > 0 && end < this.#at;
      const [token, blanks] = this.#item(line, item as RegExpExecArray);
      end = this.#at - blanks;
      items.push(token);
      loose ||= token.tokens?.some((one, at, all) => one.type === "space" && at > 0 && at < all.length - 1) ?? false;
    }
    this.#at = end;
    if (!loose)
      for (const { tokens } of items) for (const one of tokens ?? []) if (one.type === "paragraph") one.type = "text";
    const ordered = mark.length > 1;
    return { type: "list", raw: "", ordered, items, ...(ordered && { start: Number.parseInt(mark, 10) }) };
  }

  /** One item, and how many blank lines follow it. */
  #item(line: string, [whole]: RegExpExecArray): [Token, number] {
    const rest = line.slice(whole.length);
    const isEmpty = BLANK.test(rest);
    const gap = indentOf(rest, whole.length) - whole.length;
    const width = whole.length + (isEmpty || gap > 4 ? 1 : gap);
    const body = new Body();
    body.push(isEmpty ? "" : stripped(rest, width - whole.length, whole.length));
    let blanks = 0;
    for (this.#at += 1; this.#at < this.#lines.length; this.#at += 1) {
      const next = this.#lines[this.#at] as string;
      if (BLANK.test(next)) {
        blanks += 1;
        continue;
      }
      if (isEmpty && blanks > 0 && body.lines.length === 1) break;
      if (indentOf(next) >= width) {
        for (; blanks > 0; blanks -= 1) body.push("");
        body.push(stripped(next, width));
      } else if (blanks === 0 && body.takes(next)) body.push(lazy(next));
      else break;
    }
    return [this.#itemToken(this.#inside(body)), blanks];
  }

  #itemToken(tokens: Token[]): Token {
    const first = tokens[0];
    const task = first?.type === "paragraph" ? TASK.exec(first.text ?? "") : null;
    if (!first || !task) return { type: "list_item", raw: "", task: false, tokens };
    const queued = this.#queue.find(({ into }) => into === first.tokens);
    if (queued) queued.src = queued.src.slice(task[0].length);
    first.text = first.text?.slice(task[0].length) ?? "";
    first.tokens?.push({ type: "checkbox", raw: task[0], checked: task[1] !== " " });
    return { type: "list_item", raw: "", task: true, tokens };
  }

  #html(opened: RegExpExecArray | null): Token {
    const from = this.#at;
    const kind = opened ? [1, 2, 3, 4, 5].find((group) => opened[group] !== undefined) : undefined;
    const end = kind === undefined ? undefined : (HTML_ENDS[kind - 1] as RegExp);
    for (; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#lines[this.#at] as string;
      if (end === undefined && BLANK.test(line)) break;
      if (end?.test(line)) {
        this.#at += 1;
        break;
      }
    }
    return { type: "html", raw: "", block: true, text: this.#lines.slice(from, this.#at).join("\n") };
  }

  #definition(line: string): Token | undefined {
    if (!line.includes("]:") && !/^ {0,3}\[[^\]]*$/.test(line)) return undefined;
    const found = DEFINITION.exec(this.#lines.slice(this.#at, this.#at + LONGEST_DEFINITION).join("\n"));
    if (!found || BLANK.test(found[1] ?? "")) return undefined;
    const [whole, label = "", address = "", title] = found;
    const name = nameOf(label);
    const href = unescaped(address.startsWith("<") ? address.slice(1, -1) : address);
    if (!Object.hasOwn(this.#links, name))
      this.#links[name] = { href, title: title === undefined ? undefined : unescaped(title.slice(1, -1)) };
    this.#at += whole.replace(/\n$/, "").split("\n").length;
    return { type: "def", raw: "" };
  }

  #table(line: string): Token | undefined {
    if (!this.#startsTable(this.#at)) return undefined;
    const delimiters = cells(this.#lines[this.#at + 1] as string);
    const align = delimiters.map((cell): Align => {
      const [left, right] = [cell.startsWith(":"), cell.endsWith(":")];
      return left && right ? "center" : left ? "left" : right ? "right" : null;
    });
    const row = (text: string): Token[] => {
      const found = cells(text);
      return align.map((side, column) => this.#lined("cell", found[column] ?? "", { align: side }));
    };
    const header = row(line);
    const rows: Token[][] = [];
    for (this.#at += 2; this.#at < this.#lines.length; this.#at += 1) {
      const next = this.#lines[this.#at] as string;
      if (BLANK.test(next) || interrupts(next) || ITEM.test(next) || indentOf(next) >= 4) break;
      rows.push(row(next));
    }
    return { type: "table", raw: "", header, rows };
  }

  #startsTable(at: number): boolean {
    const [head, delimiters] = [this.#lines[at] ?? "", this.#lines[at + 1] ?? ""];
    if (!/[|:]/.test(delimiters) || !DELIMITERS.test(delimiters) || indentOf(head) >= 4) return false;
    return cells(head).length === cells(delimiters).length;
  }

  #paragraph(): Token {
    const body = [(this.#lines[this.#at] as string).trimStart()];
    for (this.#at += 1; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#lines[this.#at] as string;
      if (BLANK.test(line)) break;
      const underline = UNDERLINE.exec(line);
      if (underline) {
        this.#at += 1;
        return this.#lined("heading", body.join("\n").trimEnd(), { depth: underline[1]?.startsWith("=") ? 1 : 2 });
      }
      if (interrupts(line) || this.#startsTable(this.#at)) break;
      body.push(line.trimStart());
    }
    return this.#lined("paragraph", body.join("\n").trimEnd());
  }
}
