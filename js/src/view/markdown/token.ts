/** What Markdown is read into: blocks, and what stands in their lines. */

export interface Token {
  type: string;
  /** What it was read from; the `raw` of the blocks of a text are the text. */
  raw: string;
  text?: string;
  tokens?: Token[];
  /** Of a heading. */
  depth?: number;
  /** Of a code block. */
  lang?: string;
  live?: boolean;
  /** Of a list. */
  ordered?: boolean;
  start?: number;
  items?: Token[];
  task?: boolean;
  checked?: boolean;
  /** Of a table. */
  header?: Token[];
  rows?: Token[][];
  align?: Align;
  /** Of a link or picture. */
  href?: string;
  title?: string;
  /** Of raw HTML: whether it stands alone. */
  block?: boolean;
}

export type Align = "left" | "center" | "right" | null | undefined;

export interface Link {
  href: string;
  title: string | undefined;
}

/** Link definitions by their names. */
export type Links = Record<string, Link>;

/** A name as definitions are looked up by it. */
export function nameOf(label: string): string {
  return label.trim().replace(/\s+/g, " ").toLowerCase().toUpperCase().toLowerCase();
}

const ESCAPED = /\\([!-/:-@[-`{-~])/g;

/** Text with its backslashes before punctuation taken away. */
export function unescaped(text: string): string {
  return text.includes("\\") ? text.replace(ESCAPED, "$1") : text;
}
