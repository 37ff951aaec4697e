/** Turns terminal output into runs of coloured text: keeps colours, drops every other control sequence. */

export interface Run {
  text: string;
  /** Class names: `fg-1`, `bg-4`, `bold`, `dim`, `italic`, `underline`. */
  style: string;
}

export interface Pen {
  fg: number | undefined;
  bg: number | undefined;
  marks: Set<string>;
}

// CSI with its parameters and final letter; OSC and other strings with their text; everything shorter.
const SEQUENCE =
  /(?:\u001b\[|\u009b)([0-9;:<=>?]*)[ -/]*([@-~]|$)|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|\u001b[ -/]*[0-~]?/g;
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const BACKSPACE = "\u0008";

export function newPen(): Pen {
  return { fg: undefined, bg: undefined, marks: new Set() };
}

/** Returns the runs of `output`, drawn with `pen`, which then has the colours and marks of the end. */
export function ansiRuns(output: string, pen: Pen = newPen()): Run[] {
  const text = overwritten(output);
  const runs: Run[] = [];
  let from = 0;
  for (const match of text.matchAll(SEQUENCE)) {
    push(runs, text.slice(from, match.index), pen);
    from = match.index + match[0].length;
    if (match[2] === "m") paint(pen, match[1] ?? "");
  }
  push(runs, text.slice(from), pen);
  return runs;
}

export function ansiText(output: string): string {
  return ansiRuns(output)
    .map((run) => run.text)
    .join("");
}

/** Applies carriage returns and backspaces to each line, as a terminal does. */
function overwritten(output: string): string {
  if (!output.includes("\r") && !output.includes(BACKSPACE)) return output;
  return output.split("\n").map(overwrittenLine).join("\n");
}

function overwrittenLine(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === "\r") end -= 1;
  const last = line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
  if (!last.includes(BACKSPACE)) return last;
  const kept: string[] = [];
  for (const letter of last) {
    if (letter === BACKSPACE) kept.pop();
    else kept.push(letter);
  }
  return kept.join("");
}

function push(runs: Run[], raw: string, pen: Pen): void {
  const text = raw.replace(CONTROL, "");
  if (text === "") return;
  const style = styleOf(pen);
  const last = runs.at(-1);
  if (last && last.style === style) last.text += text;
  else runs.push({ text, style });
}

function styleOf(pen: Pen): string {
  const names = [...pen.marks];
  if (pen.fg !== undefined) names.push(`fg-${pen.fg}`);
  if (pen.bg !== undefined) names.push(`bg-${pen.bg}`);
  return names.join(" ");
}

const MARKS: Record<number, string> = { 1: "bold", 2: "dim", 3: "italic", 4: "underline" };
const ENDS: Record<number, readonly string[]> = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"] };
/** The ranges of eight colours: their ground, first code and first colour. */
const COLOURS = [
  ["fg", 30, 0],
  ["fg", 90, 8],
  ["bg", 40, 0],
  ["bg", 100, 8],
] as const;

function paint(pen: Pen, parameters: string): void {
  const codes = parameters.split(/[;:]/).map(Number);
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] as number;
    if (code !== 38 && code !== 48) {
      paintOne(pen, code);
      continue;
    }
    const index = codes[at + 1] === 5 ? (codes[at + 2] ?? -1) : -1;
    pen[code === 38 ? "fg" : "bg"] = index >= 0 && index < 16 ? index : undefined;
    at += codes[at + 1] === 5 ? 2 : 4;
  }
}

function paintOne(pen: Pen, code: number): void {
  const mark = MARKS[code];
  if (code === 0) Object.assign(pen, newPen());
  if (mark) pen.marks.add(mark);
  for (const end of ENDS[code] ?? []) pen.marks.delete(end);
  if (code === 39) pen.fg = undefined;
  if (code === 49) pen.bg = undefined;
  for (const [ground, from, first] of COLOURS) if (code >= from && code < from + 8) pen[ground] = code - from + first;
}
