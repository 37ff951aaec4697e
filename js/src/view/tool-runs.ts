/** Decides which parts of an answer have their own line, and which finished tool calls fold into one line. */
import { table } from "../state/object";
import type { ResponsePart, TerminalView, ToolCallState, ToolContent } from "../state/types.gen";
import { failed, failureSentence } from "./failure";
import { textOf } from "./parts/text";
import { walkthroughOf } from "./parts/walkthrough";
import { count } from "./plain";

/**
 * A line of an answer: one part, or a run of calls with the thoughts between them. Numbers are indexes in the answer.
 */
export type AnswerLine = number | readonly number[];

const many = (verb: string, one: string) => (number: number) =>
  `${verb} ${count(number)} ${one}${number === 1 ? "" : "s"}`;

const WORDS: Record<string, (times: number) => string> = table({
  read: many("read", "file"),
  edit: many("edited", "file"),
  delete: many("deleted", "file"),
  move: many("moved", "file"),
  search: (times: number) => `searched ${times === 1 ? "once" : `${count(times)} times`}`,
  fetch: many("fetched", "page"),
  execute: many("ran", "command"),
  kernel: many("ran", "code snippet"),
  insertCell: many("inserted", "cell"),
  deleteCell: many("deleted", "cell"),
  moveCell: many("moved", "cell"),
  changeCell: many("changed", "cell"),
  compaction: () => "compacted the conversation",
  other: many("used", "tool"),
});

/** Kinds that count the same file only once. */
const OF_FILES: ReadonlySet<string> = new Set(["read", "edit", "delete", "move"]);

/**
 * Returns the lines of an answer, ordered by their beginnings; each of `visibleParts` is in exactly one. Between two texts the
 * finished calls and the thoughts form one line, and calls that failed for the same reason form one.
 *
 * @param parts The parts of the answer.
 * @param visibleParts The indexes of the shown parts.
 * @param terminals The commands' output and exit states.
 * @param live The index of the part that is being written.
 */
export function answerLines(
  parts: readonly ResponsePart[],
  visibleParts: readonly number[],
  terminals: readonly TerminalView[] = [],
  live = -1,
): AnswerLine[] {
  const printed = new Map(terminals.map((terminal) => [terminal.id, terminal]));
  const lines: AnswerLine[] = [];
  let work: number[] = [];
  const end = () => {
    lines.push(...linesOfWork(parts, work, printed, live));
    work = [];
  };
  for (const at of visibleParts) {
    const { kind } = parts[at] as ResponsePart;
    if (kind === "toolCall" || kind === "reasoning") work.push(at);
    else {
      end();
      lines.push(at);
    }
  }
  end();
  return lines;
}

type Terminals = ReadonlyMap<string, TerminalView>;

function linesOfWork(parts: readonly ResponsePart[], work: readonly number[], terminals: Terminals, live: number) {
  const groups = new Map<string, number[]>();
  for (const at of work) {
    const part = parts[at] as ResponsePart;
    const group = part.kind === "toolCall" ? groupOf(part.toolCall, terminals) : at === live ? "" : "thought";
    groups.set(group || `alone ${at}`, [...(groups.get(group || `alone ${at}`) ?? []), at]);
  }
  const thoughts = groups.get("thought") ?? [];
  const done = groups.get("done");
  groups.delete("thought");
  if (done)
    groups.set(
      "done",
      [...done, ...thoughts].sort((one, other) => one - other),
    );
  else for (const at of thoughts) groups.set(`alone ${at}`, [at]);
  return [...groups.values()]
    .sort(([one = 0], [other = 0]) => one - other)
    .map((group): AnswerLine => (group.length === 1 ? (group[0] as number) : group));
}

/** Returns the group that a call shares a line with; "" if it has its own line. */
function groupOf(call: ToolCallState, terminals: Terminals): string {
  if (isDone(call, terminals)) return "done";
  if (failed(call)) return `failed ${kindOf(call)} ${failureSentence(call)}`;
  if (call.status === "cancelled" && call.reason === "skipped") return "skipped";
  if (call.status === "cancelled" && call.reason === "denied" && !textOf(call.reasonMessage)) return "denied";
  return "";
}

export function callsOf(parts: readonly ResponsePart[], places: readonly number[]): ToolCallState[] {
  return places.flatMap((at) => {
    const part = parts[at];
    return part?.kind === "toolCall" ? [part.toolCall] : [];
  });
}

/** Returns what the calls of a run did: `Inserted 14 cells, ran 1 command`. */
export function runTitle(calls: readonly ToolCallState[]): string {
  const done = new Map<string, Set<string>>();
  for (const call of calls) {
    const kind = workOf(call);
    const things = done.get(kind) ?? new Set();
    // The same file read again counts once; a call without a file counts for itself.
    const places = OF_FILES.has(kind) ? call.details?.locations?.map(({ path }) => path) : undefined;
    for (const thing of places?.length ? places : [`call ${call.toolCallId}`]) things.add(thing);
    done.set(kind, things);
  }
  const summary = [...done].map(([kind, things]) => WORDS[kind]?.(things.size)).join(", ");
  return summary.charAt(0).toUpperCase() + summary.slice(1);
}

export function kindOf(call: ToolCallState): string {
  return call.details?.kind ?? call.toolName;
}

const OF_CELLS: Record<string, string> = table({ insert: "insertCell", delete: "deleteCell", move: "moveCell" });

/** Returns the kind of work that a call did, as its line names it. */
function workOf(call: ToolCallState): string {
  const { cell } = call.details ?? {};
  if (cell) return OF_CELLS[cell.action] ?? "changeCell";
  const kind = kindOf(call);
  return Object.hasOwn(WORDS, kind) ? kind : "other";
}

/**
 * True if a call folds away, since it has succeeded. A call stays visible if it shows a picture, cites, ran without
 * asking, or differed from its preview.
 */
function isDone(call: ToolCallState, terminals: Terminals): boolean {
  if (call.status !== "completed" || !call.success) return false;
  const { details } = call;
  if (details?.ranWithoutAsking || details?.research || details?.differences?.length) return false;
  if (walkthroughOf(call) || call.content?.some((piece) => piece.type !== "text")) return false;
  return [...(details?.content ?? []), ...(details?.run?.content ?? [])].every((piece) => isQuiet(piece, terminals));
}

function isQuiet(piece: ToolContent, terminals: Terminals): boolean {
  if (piece.type !== "terminal") return piece.type === "text" || piece.type === "diff";
  const terminal = terminals.get(piece.terminalId);
  return !terminal || (terminal.exited === true && !terminal.signal && (terminal.exitCode ?? 0) === 0);
}
