/** Reads a difference as `diff -u` has it. */
import type { Change, Hunk } from "../parts/line-diff";

const HEAD = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Its hunks; undefined where there is none. */
export function readUnified(diff: string): Change | undefined {
  const hunks: Hunk[] = [];
  for (const text of diff.split("\n")) {
    const head = HEAD.exec(text);
    if (head) hunks.push({ oldStart: Number(head[1]), newStart: Number(head[2]), lines: [] });
    else if (/^[ +\-\\]/.test(text)) hunks.at(-1)?.lines.push(text);
  }
  if (hunks.length === 0) return undefined;
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const number = (mark: string) => lines.filter((text) => text.startsWith(mark)).length;
  return { hunks, added: number("+"), removed: number("-"), lines: lines.length };
}
