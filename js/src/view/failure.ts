/** Says why a tool call failed, in one sentence. */
import type { ToolCallState } from "../state/types.gen";
import { line, withoutFences } from "./plain";

const LONGEST = 200;
/** In characters: only the start or the end of a long text is read. */
const LOOKED_AT = 4_000;

/** The start of the kernel's message on code that the user stopped; the rest is for the agent. */
const STOPPED = "The code was stopped by the user.";

/** True if the user stopped it, which is not a failure. */
export function isStopped(call: ToolCallState): boolean {
  return call.status === "completed" && !call.success && failureSentence(call).startsWith(STOPPED);
}

export function failed(call: ToolCallState): boolean {
  return call.status === "completed" && !call.success && !isStopped(call);
}

/** Returns the error's first line; for a traceback or code in the kernel, the last one, which names the error. */
export function failureSentence(call: ToolCallState): string {
  const { run, content = [] } = call.details ?? {};
  const output = run ? run.content : [...content, ...(("content" in call && call.content) || [])];
  const texts = (output ?? []).flatMap((piece) => (piece.type === "text" && "text" in piece ? [piece.text] : []));
  const error = "error" in call ? call.error?.message : undefined;
  const text = run ? texts.at(-1) : error || texts.find(Boolean);
  if (!text) return "";
  const isTraceback = run !== undefined || text.slice(0, LOOKED_AT).includes("Traceback (most recent call last)");
  const near = withoutFences(isTraceback ? text.slice(-LOOKED_AT) : text.slice(0, LOOKED_AT));
  const lines = near.split("\n").filter((each) => /[\p{L}\p{N}]/u.test(each) && !each.startsWith("```"));
  return line(isTraceback ? lines.at(-1) : lines[0], LONGEST);
}
