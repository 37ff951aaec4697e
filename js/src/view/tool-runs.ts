/** Which parts of an answer stand on a line of their own, and which calls of tools fold into one line. */
import { table } from "../state/object";
import type { ResponsePart, TerminalView, ToolCallState } from "../state/types.gen";
import { count } from "./plain";

/** A line of an answer: one part, or a run of calls with the thoughts between them. Numbers are places in the answer. */
export type AnswerLine = number | readonly number[];

/** Shorter runs stay as they are. */
const SHORTEST_RUN = 3;

const WORDS: Record<string, (times: number) => string> = table({
  read: (files) => `read ${count(files)} ${files === 1 ? "file" : "files"}`,
  search: (times) => `searched ${times === 1 ? "once" : `${count(times)} times`}`,
  fetch: (pages) => `fetched ${count(pages)} ${pages === 1 ? "page" : "pages"}`,
  execute: (times) => `ran ${count(times)} ${times === 1 ? "command" : "commands"}`,
});

/**
 * The lines of an answer, in order; each of `shown` stands in exactly one.
 *
 * @param parts The parts of the answer.
 * @param shown The places of those that are shown.
 * @param terminals What the commands have printed, and how they ended.
 */
export function answerLines(
  parts: readonly ResponsePart[],
  shown: readonly number[],
  terminals: readonly TerminalView[] = [],
): AnswerLine[] {
  const printed = new Map(terminals.map((terminal) => [terminal.id, terminal]));
  const lines: AnswerLine[] = [];
  let run: number[] = [];
  let thoughts: number[] = [];
  const end = () => {
    if (callsOf(parts, run).length >= SHORTEST_RUN) lines.push(run);
    else lines.push(...run);
    lines.push(...thoughts);
    run = [];
    thoughts = [];
  };
  for (const at of shown) {
    const part = parts[at] as ResponsePart;
    if (part.kind === "toolCall" && canFold(part.toolCall, printed)) {
      run.push(...thoughts, at);
      thoughts = [];
    } else if (part.kind === "reasoning" && run.length > 0) thoughts.push(at);
    else {
      end();
      lines.push(at);
    }
  }
  end();
  return lines;
}

/** The calls among the parts at these places. */
export function callsOf(parts: readonly ResponsePart[], places: readonly number[]): ToolCallState[] {
  return places.flatMap((at) => {
    const part = parts[at];
    return part?.kind === "toolCall" ? [part.toolCall] : [];
  });
}

/** What the calls of a run did: `Read 12 files, searched 3 times`. */
export function runTitle(calls: readonly ToolCallState[]): string {
  const done = new Map<string, Set<string>>();
  for (const call of calls) {
    const kind = kindOf(call);
    const things = done.get(kind) ?? new Set();
    // The same file read again is one file; of a call that names none, nothing is known.
    const places = kind === "read" ? call.details?.locations?.map(({ path }) => path) : undefined;
    for (const thing of places?.length ? places : [`call ${call.toolCallId}`]) things.add(thing);
    done.set(kind, things);
  }
  const said = [...done].map(([kind, things]) => WORDS[kind]?.(things.size)).join(", ");
  return said.charAt(0).toUpperCase() + said.slice(1);
}

export function kindOf(call: ToolCallState): string {
  return call.details?.kind ?? call.toolName;
}

/**
 * Whether a call can be folded away: it looked something up or ran a command, it has done its job, and nobody was
 * asked about it. What changes a file, shows a picture, runs, waits, failed or was denied stays in sight.
 */
function canFold(call: ToolCallState, terminals: ReadonlyMap<string, TerminalView>): boolean {
  if (call.status !== "completed" || !call.success || call.confirmed === "user-action") return false;
  if (!Object.hasOwn(WORDS, kindOf(call)) || call.details?.ranWithoutAsking) return false;
  if (call.content?.some((piece) => piece.type !== "text")) return false;
  return (call.details?.content ?? []).every((piece) => {
    if (piece.type !== "terminal") return piece.type === "text";
    const terminal = terminals.get(piece.terminalId);
    return !terminal || hasSucceeded(terminal);
  });
}

function hasSucceeded({ exited, exitCode, signal }: TerminalView): boolean {
  return exited === true && !signal && (exitCode ?? 0) === 0;
}
