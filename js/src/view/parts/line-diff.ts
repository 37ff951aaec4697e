/**
 * The lines that two texts differ in (Myers' greedy algorithm), in hunks as `diff -u` has them.
 *
 * What is too far apart to be compared in time is given as taken out and put in whole: a right answer, only longer.
 */

export interface Hunk {
  oldStart: number;
  newStart: number;
  /** Each with its mark: a space, `+`, `-`, or `\` for a note. */
  lines: string[];
}

const FARTHEST = 2500;
const PATIENCE = 200;
const CONTEXT = 3;
const OPEN_END = "\u0000";
const NOTE = "\\ No newline at end of file";

type Mark = " " | "+" | "-";
type Edit = readonly [mark: Mark, line: string];

export function lineDiff(oldText: string, newText: string): Hunk[] {
  const before = linesOf(oldText);
  const after = linesOf(newText);
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  const same = (lines: string[]) => lines.map((line): Edit => [" ", line]);
  const head = before.slice(Math.max(0, start - CONTEXT), start);
  const tail = before.slice(before.length - end, before.length - end + CONTEXT);
  const edits = [...same(head), ...(shortest(old, fresh) ?? whole(old, fresh)), ...same(tail)];
  return hunksOf(edits, start - head.length);
}

/** A last line without its line end is another line than one with it. */
function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  const last = lines.pop() as string;
  if (last !== "") lines.push(last + OPEN_END);
  return lines;
}

function whole(old: readonly string[], fresh: readonly string[]): Edit[] {
  return [...old.map((line): Edit => ["-", line]), ...fresh.map((line): Edit => ["+", line])];
}

function shortest(old: readonly string[], fresh: readonly string[]): Edit[] | undefined {
  if (old.length === 0 || fresh.length === 0) return undefined;
  const until = performance.now() + PATIENCE;
  const trace: Int32Array[] = [];
  let reach = new Int32Array(3);
  for (let far = 0; far <= Math.min(FARTHEST, old.length + fresh.length); far += 1) {
    const next = new Int32Array(2 * far + 3);
    for (let k = -far; k <= far; k += 2) {
      // `reach` is that of one step less: its diagonal k stands at k + far.
      const down = k === -far || (k !== far && (reach[k + far - 1] as number) < (reach[k + far + 1] as number));
      let x = far === 0 ? 0 : down ? (reach[k + far + 1] as number) : (reach[k + far - 1] as number) + 1;
      while (x < old.length && x - k < fresh.length && old[x] === fresh[x - k]) x += 1;
      next[k + far + 1] = x;
      if (x >= old.length && x - k >= fresh.length) return walkBack([...trace, reach], old, fresh);
    }
    trace.push(reach);
    reach = next;
    if (far % 50 === 49 && performance.now() > until) return undefined;
  }
  return undefined;
}

/** The edits from the end to the beginning: at each step where it came from. */
function walkBack(trace: Int32Array[], old: readonly string[], fresh: readonly string[]): Edit[] {
  const edits: Edit[] = [];
  let x = old.length;
  let y = fresh.length;
  for (let far = trace.length - 1; far > 0; far -= 1) {
    const reach = trace[far] as Int32Array;
    const k = x - y;
    const down = k === -far || (k !== far && (reach[k + far - 1] as number) < (reach[k + far + 1] as number));
    const fromX = down ? (reach[k + far + 1] as number) : (reach[k + far - 1] as number);
    const fromY = fromX - (down ? k + 1 : k - 1);
    while (x > fromX && y > fromY && !(x === fromX + (down ? 0 : 1) && y === fromY + (down ? 1 : 0))) {
      x -= 1;
      y -= 1;
      edits.push([" ", old[x] as string]);
    }
    if (down) edits.push(["+", fresh[fromY] as string]);
    else edits.push(["-", old[fromX] as string]);
    x = fromX;
    y = fromY;
  }
  while (x > 0) {
    x -= 1;
    edits.push([" ", old[x] as string]);
  }
  return edits.reverse();
}

function hunksOf(edits: readonly Edit[], before: number): Hunk[] {
  const hunks: Hunk[] = [];
  let [oldLine, newLine, quiet] = [before + 1, before + 1, CONTEXT + 1];
  let hunk: Hunk | undefined;
  for (const [at, [mark, line]] of edits.entries()) {
    quiet = mark === " " ? quiet + 1 : 0;
    const soon = edits.slice(at, at + CONTEXT + 1).some(([next]) => next !== " ");
    if (quiet > CONTEXT && !soon) hunk = undefined;
    else if (!hunk) {
      hunk = { oldStart: oldLine, newStart: newLine, lines: [] };
      hunks.push(hunk);
    }
    hunk?.lines.push(mark + line.replace(OPEN_END, ""));
    if (line.endsWith(OPEN_END)) hunk?.lines.push(NOTE);
    if (mark !== "+") oldLine += 1;
    if (mark !== "-") newLine += 1;
  }
  return hunks;
}
