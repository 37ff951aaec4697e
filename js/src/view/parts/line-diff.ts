/** The difference of two texts by lines, in hunks like those of `diff -u` (jsdiff). */
import { structuredPatch } from "diff";

export interface Hunk {
  oldStart: number;
  newStart: number;
  /** Each with its mark: a space, `+`, `-`, or `\` for a note. */
  lines: string[];
}

export interface Change {
  hunks: Hunk[];
  added: number;
  removed: number;
  lines: number;
}

/** jsdiff's time grows with the square of the differences. In milliseconds; the rest of a task needs its time too. */
const TIMEOUT = 50;
const CONTEXT = 3;
/** Characters and lines of both texts together; longer ones are not compared. */
const LONGEST = 1_000_000;
const MOST_LINES = 50_000;
const NOTE = "\\ No newline at end of file";

/** Texts too different to compare in time are one hunk: all old lines removed, all new lines added. */
export function lineDiff(oldText: string, newText: string): Hunk[] {
  const options = { context: CONTEXT, timeout: TIMEOUT };
  const patch = oldText && newText ? structuredPatch("", "", oldText, newText, "", "", options) : undefined;
  if (patch) return patch.hunks;
  const lines = [...marked("-", oldText), ...marked("+", newText)];
  return lines.length > 0 ? [{ oldStart: 1, newStart: 1, lines }] : [];
}

function marked(mark: string, text: string): string[] {
  if (text === "") return [];
  const isEnded = text.endsWith("\n");
  const lines = (isEnded ? text.slice(0, -1) : text).split("\n").map((line) => mark + line);
  return isEnded ? lines : [...lines, NOTE];
}

/** Returns the hunks between two texts, or undefined if they are too long to compare here. */
export function compare(oldText: string, newText: string): Change | undefined {
  if (oldText.length + newText.length > LONGEST) return undefined;
  if (lineCount(oldText) + lineCount(newText) > MOST_LINES) return undefined;
  const hunks = lineDiff(oldText, newText);
  const lines = hunks.flatMap((hunk) => hunk.lines);
  return {
    hunks,
    added: lines.filter((line) => line.startsWith("+")).length,
    removed: lines.filter((line) => line.startsWith("-")).length,
    lines: lines.length,
  };
}

function lineCount(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
