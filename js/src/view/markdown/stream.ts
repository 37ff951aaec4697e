/**
 * Markdown that grows: blocks before the last one are frozen, only the tail is lexed again.
 *
 * A block is frozen when a *complete line* has begun a later block: a half line may still turn out to continue
 * it (`2` → `2. item`). Inside an open fence at the margin nothing is lexed until its closing line. The blocks
 * of a finished text are the same however it was cut.
 */
import { complete } from "./complete";
import { copied, type Links, lex, noLinks, type Token } from "./lexer";

/** Looks for the line's end first: without one, every split of a long row of marks would be tried. */
const FENCE = /^(?=[^\n]*\n)(`{3,}|~{3,})([^\n]*)\n/;

export class MarkdownStream {
  /** Blocks that no later text can change. */
  readonly frozen: Token[] = [];
  #seen = 0;
  #probe = "";
  #text = "";
  #tail = "";
  #links: Links = noLinks();
  #closing: RegExp | undefined;

  /** Takes the whole text so far; what was seen before is not read again. */
  update(whole: string): void {
    if (whole.length < this.#seen || !whole.startsWith(this.#probe, this.#seen - this.#probe.length)) this.#reset();
    if (whole.length === this.#seen) return;
    const end = whole.endsWith("\r") ? whole.length - 1 : whole.length;
    const added = whole.slice(this.#seen, end);
    this.#seen = end;
    this.#probe = whole.slice(Math.max(0, end - 32), end);
    this.#append(added.includes("\r") ? added.replace(/\r\n?/g, "\n") : added);
  }

  /** The blocks after the frozen ones: as lexed when `final`, else finished for display. */
  open(final: boolean): Token[] {
    if (this.#tail === "") return [];
    if (final) return blocks(lex(this.#tail, copied(this.#links)));
    if (this.#closing) return [openFence(this.#tail)];
    return blocks(lex(complete(this.#tail), copied(this.#links)));
  }

  #reset(): void {
    this.frozen.length = 0;
    this.#seen = 0;
    this.#probe = "";
    this.#text = "";
    this.#tail = "";
    this.#links = noLinks();
    this.#closing = undefined;
  }

  #append(added: string): void {
    const from = this.#tail.lastIndexOf("\n") + 1;
    this.#text += added;
    this.#tail += added;
    if (this.#closing) {
      this.#closing.lastIndex = from;
      if (!this.#closing.test(this.#tail)) return;
      this.#closing = undefined;
    }
    if (added.includes("\n")) this.#freeze();
    this.#enterFence();
  }

  #freeze(): void {
    const known = Object.keys(this.#links).length;
    const lines = this.#tail.slice(0, this.#tail.lastIndexOf("\n") + 1);
    const tokens = lex(lines, this.#links);
    const names = Object.keys(this.#links).slice(known);
    if (names.length > 0 && this.#refersTo(names)) return this.#again();
    let last = tokens.length - 1;
    while (last > 0 && tokens[last]?.type === "space") last -= 1;
    let length = 0;
    for (const token of tokens.slice(0, Math.max(last, 0))) {
      length += token.raw.length;
      if (token.type !== "space") this.frozen.push(token);
    }
    if (length > 0) this.#tail = this.#tail.slice(length);
  }

  /** Whether frozen text names a definition that came after it. */
  #refersTo(names: string[]): boolean {
    if (this.frozen.length === 0) return false;
    const before = this.#text
      .slice(0, this.#text.length - this.#tail.length)
      .toLowerCase()
      .replace(/\s+/g, " ");
    return names.some((name) => before.includes(`[${name}]`));
  }

  #again(): void {
    this.frozen.length = 0;
    this.#tail = this.#text;
    this.#freeze();
  }

  #enterFence(): void {
    const fence = FENCE.exec(this.#tail);
    if (!fence) return;
    const mark = fence[1] as string;
    if (mark[0] === "`" && (fence[2] as string).includes("`")) return;
    const closing = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}[ \\t]*$`, "gm");
    closing.lastIndex = fence[0].length;
    if (!closing.test(this.#tail)) this.#closing = closing;
  }
}

function blocks(tokens: Token[]): Token[] {
  return tokens.filter((token) => token.type !== "space");
}

/** The code block of an unfinished fence; a last line that may be its end waits. */
function openFence(tail: string): Token {
  const head = (FENCE.exec(tail) as RegExpExecArray)[0];
  const text = tail
    .slice(head.length)
    .replace(/(?:^|\n) {0,3}(?:`+|~+)$/, "")
    .replace(/\n$/, "");
  return {
    type: "code",
    raw: tail,
    text,
    lang: head
      .trim()
      .replace(/^[`~]+/, "")
      .trim(),
    live: true,
  } as Token;
}
