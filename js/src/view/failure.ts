/** Why a tool call failed, in one sentence. */
import type { ToolCallState } from "../state/types.gen";
import { line, withoutFences } from "./plain";

const LONGEST = 200;
/** Of a text of megabytes its ends are enough. */
const LOOKED_AT = 4_000;

/** The first line of what went wrong; of a traceback the last one, which names the error. "" where nothing is said. */
export function failureSentence(call: ToolCallState): string {
  const error = "error" in call ? call.error?.message : undefined;
  const pieces = [...(call.details?.content ?? []), ...(("content" in call && call.content) || [])];
  const text =
    error || pieces.map((piece) => (piece.type === "text" && "text" in piece ? piece.text : "")).find(Boolean);
  if (!text) return "";
  const isTraceback = text.slice(0, LOOKED_AT).includes("Traceback (most recent call last)");
  const near = withoutFences(isTraceback ? text.slice(-LOOKED_AT) : text.slice(0, LOOKED_AT));
  const lines = near.split("\n").filter((each) => /[\p{L}\p{N}]/u.test(each) && !each.startsWith("```"));
  return line(isTraceback ? lines.at(-1) : lines[0], LONGEST);
}
