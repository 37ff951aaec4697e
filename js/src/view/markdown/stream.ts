/**
 * Reads growing Markdown: blocks before the last one are frozen, only the tail is read again.
 *
 * A block is frozen when a *complete line* has begun a later block: half a line may still continue it
 * (`2` → `2. item`). Inside an open fence at the margin nothing is read until its closing line. A finished text has the
 * same blocks however it was split. A block that grows too long is cut in two, so the tail stays short; a long text
 * is read in steps, so that no step blocks the page.
 */
import { complete, insideFence } from "./complete";
import { asText, closingFence, copied, type Links, lex, noLinks, type Token } from "./lexer";

/** Looks for the line's end first: without it, the pattern would try every split of a long row of marks. */
const FENCE = /^(?=[^\n]*\n)(`{3,}|~{3,})([^\n]*)\n/;
/** The length of text added to the tail at a time, in characters. */
const STEP = 1_500;
/** The beginning that is read regardless of the deadline, in characters: most messages are drawn at once. */
const AT_LEAST = 6_000;
/** The number of new blocks that ends a step: blocks that are quick to read, such as code, cost more to draw. */
const MOST_BLOCKS = 24;
/** A list this long continues as another list with its next item, in characters. */
const LONG_LIST = 3_000;
/** Any block this long continues as another block with its next line, in characters and in lines. */
const LONG_BLOCK = 6_000;
const MANY_LINES = 150;
/** Code in a list or a quote stays together up to this length, in characters. */
const LONGEST_CODE = 32_000;
const ITEM = /^(?:[-*+]|\d{1,9}[.)])[ \t]+\S/gm;
const TABLE_HEAD = /^[^\n]{0,1000}\n[^\n]{0,1000}\n/;
const NAME = /\[([^[\]\\]{1,100})\]/g;
const MOST_LINKS = 200;
/** The most times, and the longest text, that is read again for a definition after its use. */
const MOST_REREADS = 10;
const LONGEST_REREAD = 200_000;

export class MarkdownStream {
  /** Blocks that no later text can change. */
  readonly frozen: Token[] = [];
  #whole = "";
  #seen = 0;
  #tail = "";
  #links: Links = noLinks();
  /** The names in brackets in frozen blocks: a later definition may turn them into links. */
  #named = new Set<string>();
  #rereads = 0;
  #closing: RegExp | undefined;
  /** The open fence's last line so far. */
  #line = "";
  #isInLongLine = false;

  /**
   * Takes the whole text so far; does not read again what it has seen before.
   *
   * Reads until `deadline` (by `performance.now()`, in milliseconds) or until some blocks are added, but always its
   * first few thousand characters; returns true if it has read everything. Without a deadline it reads everything.
   */
  update(whole: string, deadline = Number.POSITIVE_INFINITY): boolean {
    const probe = this.#whole.slice(Math.max(0, this.#whole.length - 32));
    const goesOn = whole.length >= this.#whole.length && whole.startsWith(probe, this.#whole.length - probe.length);
    if (!goesOn) this.#reset();
    this.#whole = whole;
    let least = this.#seen < AT_LEAST ? AT_LEAST - this.#seen : 0;
    const most = deadline === Number.POSITIVE_INFINITY ? deadline : this.frozen.length + MOST_BLOCKS;
    do {
      const end = this.#stepEnd();
      if (end === this.#seen) return true;
      const added = whole.slice(this.#seen, end);
      this.#seen = end;
      least -= added.length;
      this.#append(added.includes("\r") ? added.replace(/\r\n?/g, "\n") : added);
    } while (this.frozen.length < most && (least > 0 || performance.now() < deadline));
    return this.#stepEnd() === this.#seen;
  }

  /** Returns the blocks after the frozen ones: unchanged if `final`, else completed for display. */
  open(final: boolean): Token[] {
    if (this.#tail === "") return [];
    if (this.#isInLongLine) return [asText(this.#tail)];
    if (final) return blocks(lex(this.#tail, copied(this.#links)));
    if (this.#closing) return [openFence(this.#tail)];
    return blocks(lex(complete(this.#tail), copied(this.#links)));
  }

  #reset(): void {
    this.#links = noLinks();
    this.#rereads = 0;
    this.#startOver();
  }

  #startOver(): void {
    this.frozen.length = 0;
    this.#named.clear();
    this.#seen = 0;
    this.#tail = "";
    this.#closing = undefined;
    this.#line = "";
    this.#isInLongLine = false;
  }

  /** Returns the end of the next step: at a line's end if there is one, never between `\r` and `\n`. */
  #stepEnd(): number {
    const whole = this.#whole;
    const most = Math.min(whole.length, this.#seen + STEP);
    const lineEnd = most < whole.length ? whole.lastIndexOf("\n", most - 1) + 1 : 0;
    const end = lineEnd > this.#seen ? lineEnd : most;
    return whole[end - 1] === "\r" ? end - 1 : end;
  }

  #append(added: string): void {
    this.#tail += added;
    if (this.#closing && !this.#isFenceClosed(added)) return;
    if (this.#isInLongLine && !this.#endLongLine()) return;
    if (added.includes("\n") || this.#closing) {
      this.#closing = undefined;
      this.#freeze();
    }
    this.#enterFence();
    if (!this.#closing && this.#tail.length - this.#tail.lastIndexOf("\n") > LONG_BLOCK) this.#startLongLine();
  }

  #isFenceClosed(added: string): boolean {
    const lines = this.#line + added;
    const closing = this.#closing as RegExp;
    closing.lastIndex = 0;
    this.#line = lines.slice(lines.lastIndexOf("\n") + 1);
    return closing.test(lines);
  }

  /** A line beyond the limit is text to its end, and frozen piece by piece. */
  #startLongLine(): void {
    this.#freezeAll(lex(this.#tail.slice(0, this.#tail.lastIndexOf("\n") + 1), this.#links));
    this.#tail = this.#tail.slice(this.#tail.lastIndexOf("\n") + 1);
    this.#isInLongLine = true;
    this.#endLongLine();
  }

  #endLongLine(): boolean {
    for (;;) {
      const lineEnd = this.#tail.indexOf("\n") + 1;
      const isEnded = lineEnd > 0 && lineEnd <= LONG_BLOCK;
      if (!isEnded && this.#tail.length < LONG_BLOCK) return false;
      const end = isEnded ? lineEnd : LONG_BLOCK;
      this.frozen.push(asText(this.#tail.slice(0, end)));
      this.#tail = this.#tail.slice(end);
      if (!isEnded) continue;
      this.#isInLongLine = false;
      return true;
    }
  }

  #freeze(): void {
    const lines = this.#tail.slice(0, this.#tail.lastIndexOf("\n") + 1);
    const known = new Set(Object.keys(this.#links));
    const tokens = lex(lines, this.#links, true);
    const added = Object.keys(this.#links).filter((name) => !known.has(name));
    if (this.#mustReread(added)) {
      this.#rereads += 1;
      return this.#startOver();
    }
    for (const name of added.slice(Math.max(0, MOST_LINKS - known.size))) delete this.#links[name];
    let last = tokens.length - 1;
    while (last > 0 && tokens[last]?.type === "space") last -= 1;
    const isMathOpen = tokens[last]?.open === true;
    // A formula that is never closed continues the paragraph before it.
    if (isMathOpen && tokens[last - 1]?.type === "paragraph") last -= 1;
    this.#freezeAll(tokens.slice(0, Math.max(last, 0)));
    const open = isMathOpen ? undefined : tokens[last];
    const length = tokens.slice(0, Math.max(last, 0)).reduce((sum, { raw }) => sum + raw.length, 0);
    if (length > 0) this.#tail = this.#tail.slice(length);
    if (open) for (let at = this.#cutAt(open); at > 0; at = this.#cutAt(open)) this.#cut(open, at);
  }

  #freezeAll(tokens: Token[]): void {
    for (const token of tokens) {
      if (token.type === "space") continue;
      this.frozen.push(token);
      if (token.type !== "code")
        for (const [, name] of token.raw.matchAll(NAME))
          this.#named.add((name as string).toLowerCase().replace(/\s+/g, " ")); // as marked writes it
    }
  }

  #mustReread(names: string[]): boolean {
    if (this.#rereads >= MOST_REREADS || this.#seen > LONGEST_REREAD) return false;
    return names.some((name) => this.#named.has(name));
  }

  /** Returns where to cut the last block, or 0. A line follows the cut, so that its continuation is known. */
  #cutAt(block: Token): number {
    const tail = this.#tail;
    const lines = tail.lastIndexOf("\n") + 1;
    const many = lineEnd(tail, MANY_LINES);
    if (lines <= LONG_LIST && many < 0) return 0;
    if (FENCE.test(tail)) return 0;
    let at = 0;
    if (block.type === "list" && (lines > LONG_LIST || many > 0)) {
      ITEM.lastIndex = many > 0 ? Math.min(LONG_LIST, many) : LONG_LIST;
      at = ITEM.exec(tail)?.index ?? 0;
    }
    if (at === 0 && lines > LONG_BLOCK) at = tail.indexOf("\n", LONG_BLOCK - 1) + 1;
    if (at === 0) at = many + 1;
    const isInCode = lines < LONGEST_CODE && insideFence(tail.slice(0, at));
    return at < lines && !isInCode ? at : 0;
  }

  /** A table that is cut repeats its head. */
  #cut(block: Token, at: number): void {
    const head = block.type === "table" ? (TABLE_HEAD.exec(this.#tail)?.[0] ?? "") : "";
    this.#freezeAll(lex(this.#tail.slice(0, at), this.#links));
    this.#tail = (head.length < at ? head : "") + this.#tail.slice(at);
  }

  #enterFence(): void {
    const fence = FENCE.exec(this.#tail);
    if (!fence) return;
    const mark = fence[1] as string;
    if (mark[0] === "`" && (fence[2] as string).includes("`")) return;
    const closing = closingFence(mark);
    closing.lastIndex = fence[0].length;
    if (closing.test(this.#tail)) return;
    this.#closing = closing;
    this.#line = this.#tail.slice(this.#tail.lastIndexOf("\n") + 1);
  }
}

/** Returns the end of line number `count`, or -1. */
function lineEnd(text: string, count: number): number {
  let at = -1;
  for (let left = count; left > 0; left -= 1) {
    at = text.indexOf("\n", at + 1);
    if (at < 0) return -1;
  }
  return at;
}

function blocks(tokens: Token[]): Token[] {
  return tokens.filter((token) => token.type !== "space");
}

/** Returns the code block of an unfinished fence, without a last line that may close it. */
function openFence(tail: string): Token {
  const head = (FENCE.exec(tail) as RegExpExecArray)[0];
  const lastLine = tail.lastIndexOf("\n");
  const end = /^ {0,3}(?:`+|~+)$/.test(tail.slice(lastLine + 1)) ? lastLine : tail.length;
  const text = tail.slice(head.length, Math.max(head.length, end)).replace(/\n$/, "");
  const lang = head
    .trim()
    .replace(/^[`~]+/, "")
    .trim();
  return { type: "code", raw: tail, text, lang, live: true };
}
