/** The parts of marked's tokens that are drawn, and the three token types that marked does not have. */

export interface Token {
  /** marked's token type, or `plain`: a block that is shown as text because reading it would cost too much. */
  type: string;
  /** The Markdown source of the token. */
  raw: string;
  text?: string;
  tokens?: Token[];
  /** Heading: its level. */
  depth?: number;
  /** Code block: the info string. */
  lang?: string;
  /** Code block: true if its closing line has not arrived. */
  live?: boolean;
  /** List. */
  ordered?: boolean;
  start?: number | "";
  items?: Token[];
  task?: boolean;
  checked?: boolean;
  /** Table. */
  header?: Token[];
  rows?: Token[][];
  align?: Align;
  /** Link or image. */
  href?: string;
  title?: string | null;
  /** Link: true if it was written as a bare address, in which character references mean nothing. */
  autolink?: boolean;
  /** Formula: true if it is on lines of its own. */
  isDisplay?: boolean;
  /** Formula on lines of its own: true if its closing delimiter has not arrived. */
  open?: boolean;
  /** Raw HTML: true if it is a block. */
  block?: boolean;
}

export type Align = "left" | "center" | "right" | null | undefined;
