/** The lines that two texts differ in, in hunks as `diff -u` has them (jsdiff). */
import { structuredPatch } from "diff";

export interface Hunk {
  oldStart: number;
  newStart: number;
  /** Each with its mark: a space, `+`, `-`, or `\` for a note. */
  lines: string[];
}

/** jsdiff's time grows with the square of the differences. In milliseconds; the rest of a task needs its time too. */
const TIMEOUT = 50;
const CONTEXT = 3;
const NOTE = "\\ No newline at end of file";

/** Texts too different to be compared in time are one hunk: all old lines removed, all new lines added. */
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
