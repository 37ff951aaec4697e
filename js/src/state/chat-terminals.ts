/** Reduces the terminals that a chat shows. */
import { changed, put, upsert } from "./change.ts";
import { OUTPUT_LIMIT } from "./tables.gen.ts";
import type { ChatState, TerminalView, XTerminalData, XTerminalExited, XTerminalOpened } from "./types.gen.ts";

export function opened(state: ChatState, { terminal }: XTerminalOpened): ChatState {
  return changed(state, { terminals: upsert(state.terminals, terminal, "id") });
}

export function data(state: ChatState, { terminalId, data }: XTerminalData): ChatState {
  return data === "" ? state : updated(state, terminalId, (terminal) => printed(terminal, data));
}

function printed(terminal: TerminalView, text: string): TerminalView {
  const output = (terminal.output ?? "") + text;
  const start = startOfLast(output, OUTPUT_LIMIT);
  return start === 0 ? { ...terminal, output } : { ...terminal, output: output.slice(start), truncated: true };
}

/** Returns the start of the last `count` code points: characters as in Python, where a surrogate pair is one. */
function startOfLast(text: string, count: number): number {
  let start = text.length - count;
  if (start <= 0) return 0;
  if (!/[\ud800-\udfff]/.test(text)) return start;
  start = text.length;
  for (let left = count; left > 0 && start > 0; left--) start -= isPair(text, start - 2) ? 2 : 1;
  return start;
}

function isPair(text: string, at: number): boolean {
  return at >= 0 && (text.codePointAt(at) ?? 0) > 0xffff;
}

export function exited(state: ChatState, { terminalId, exitCode, signal }: XTerminalExited): ChatState {
  return updated(state, terminalId, (terminal) => changed(terminal, { exited: true, exitCode, signal }));
}

function updated(state: ChatState, id: string, update: (terminal: TerminalView) => TerminalView): ChatState {
  const terminals = state.terminals ?? [];
  const at = terminals.findLastIndex((terminal) => terminal.id === id);
  const old = terminals[at];
  if (old === undefined) return state;
  const terminal = update(old);
  return terminal === old ? state : { ...state, terminals: put(terminals, at, terminal) };
}
