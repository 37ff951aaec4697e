/** The pieces of a line as a list, and the runs of marks among them that may open or close emphasis. */
import type { Token } from "./token";

export interface Node {
  token: Token | undefined;
  prev: Node | undefined;
  next: Node | undefined;
  run: Run | undefined;
}

/** A run of `*`, `_` or `~` that may open or close emphasis. */
export interface Run {
  mark: string;
  length: number;
  first: number;
  opens: boolean;
  closes: boolean;
}

export function fits(opener: Run | undefined, closer: Run): boolean {
  if (!opener?.opens || opener.mark !== closer.mark || opener.length === 0) return false;
  if (closer.mark === "~") return opener.length === closer.length;
  if (!opener.closes && !closer.opens) return true;
  return (opener.first + closer.first) % 3 !== 0 || (opener.first % 3 === 0 && closer.first % 3 === 0);
}

export function shorten(node: Node, by: number): void {
  const run = node.run as Run;
  run.length -= by;
  const text = run.mark.repeat(run.length);
  node.token = { type: "text", raw: text, text };
}

export function taken(first: Node | undefined): Token[] {
  const tokens: Token[] = [];
  for (let node = first; node; node = node.next) if (node.token) tokens.push(node.token);
  return tokens;
}
