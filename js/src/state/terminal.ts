/** Reduces a terminal channel. No view shows one yet: nothing but the tests imports this, and the bundle has none of it. */
import { changed, defined, put } from "./change.ts";
import { byType } from "./reducers.ts";
import type { TerminalAction, TerminalContentPart, TerminalState } from "./types.gen.ts";

/** To the running command or to what is between commands, whichever comes last. */
function printed(state: TerminalState, data: string): TerminalState {
  if (data === "") return state;
  const at = state.content.length - 1;
  const last = state.content[at];
  const put_ = (part: TerminalContentPart, index: number) =>
    changed(state, { content: put(state.content, index, part) });
  if (last?.type === "unclassified") return put_({ ...last, value: last.value + data }, at);
  if (last?.type === "command" && !last.isComplete) return put_({ ...last, output: last.output + data }, at);
  return put_({ type: "unclassified", value: data }, at + 1);
}

/** A terminal after an action; the very same object when nothing has changed. */
export const reduceTerminal = byType<TerminalState, TerminalAction, "terminal">("terminal", {
  "terminal/data": (state, { data }) => printed(state, data),
  "terminal/exited": (state, { exitCode }) => changed(state, { lifecycle: defined({ status: "exited", exitCode }) }),
  "terminal/commandExecuted": (state, { commandId, commandLine, timestamp }) => {
    const command = { type: "command", commandId, commandLine, output: "", timestamp, isComplete: false } as const;
    return changed(state, { content: [...state.content, command], supportsCommandDetection: true });
  },
  "terminal/commandFinished": (state, { commandId, exitCode, durationMs }) => {
    const at = state.content.findIndex(
      (part) => part.type === "command" && part.commandId === commandId && !part.isComplete,
    );
    const part = state.content[at];
    if (part?.type !== "command") return state;
    const done = changed(part, { isComplete: true, exitCode, durationMs });
    return changed(state, { content: put(state.content, at, done) });
  },
});
