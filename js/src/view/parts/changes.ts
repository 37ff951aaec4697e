/** File changes by path, as the tool calls themselves report them (`agentnb/host/changes.py` does the same). */
import { table } from "../../state/object";
import type { ResponsePart, ToolDiffContent } from "../../state/types.gen";
import { inFolder } from "../plain";
import { type Change, compare } from "./line-diff";
import { refOf } from "./whole";

export interface FileChange {
  path: string;
  kind: "created" | "changed" | "deleted" | "moved";
  /** Absent if the calls do not show the change, or if it is too large to compare here. */
  change: Change | undefined;
}

interface Edit {
  oldText: string | null;
  newText: string;
}
interface File {
  kind: FileChange["kind"];
  edits: Edit[];
  made: boolean;
  whole: boolean;
}

const KINDS: Record<string, FileChange["kind"]> = table({ edit: "changed", delete: "deleted", move: "moved" });

/** Returns the files in the order of their first appearance; leaves out a file whose text ends unchanged. */
export function changes(parts: readonly ResponsePart[], cwd?: string): FileChange[] {
  const files = new Map<string, File>();
  const file = (path: string) => {
    const name = inFolder(path, cwd);
    const entry = files.get(name) ?? { kind: "changed", edits: [], made: false, whole: true };
    files.set(name, entry);
    return entry;
  };
  for (const part of parts) {
    if (part.kind !== "toolCall" || !("success" in part.toolCall) || !part.toolCall.success) continue;
    const { kind, locations, content } = part.toolCall.details ?? {};
    const diffs = (content ?? []).filter((piece) => piece.type === "diff");
    for (const diff of diffs) edit(file(diff.path), diff);
    const what = KINDS[kind ?? ""];
    if (!what || (what === "changed" && diffs.length > 0)) continue;
    for (const { path } of locations ?? []) {
      const place = file(path);
      if (what !== "changed") place.kind = what;
    }
  }
  return [...files].flatMap(([path, one]) => fileChanges(path, one));
}

function edit(file: File, diff: ToolDiffContent): void {
  const fresh = { oldText: diff.oldText ?? null, newText: diff.newText };
  const last = file.edits.at(-1);
  if (!last) file.made = fresh.oldText === null;
  file.whole &&= !refOf(diff, "oldText") && !refOf(diff, "newText");
  file.kind = file.made ? "created" : "changed";
  if (last && last.newText === fresh.oldText) last.newText = fresh.newText;
  else if (!file.edits.some((other) => holds(other, fresh)))
    file.edits = [...file.edits.filter((other) => !holds(fresh, other)), fresh];
}

/** True if `whole` clearly contains `some`, a part of a file as an agent shows it. */
function holds(whole: Edit, some: Edit): boolean {
  const [old, now] = [some.oldText ?? "", some.newText];
  return old + now !== "" && (whole.oldText ?? "").includes(old) && whole.newText.includes(now);
}

function fileChanges(path: string, { kind, edits, made, whole }: File): FileChange[] {
  const isGone = kind === "deleted" || kind === "moved";
  if (isGone || edits.length === 0 || !whole)
    return kind === "deleted" && made ? [] : [{ path, kind, change: undefined }];
  const real = edits.filter(({ oldText, newText }) => oldText !== newText);
  const comparisons = real.map(({ oldText, newText }) => compare(oldText ?? "", newText));
  const sum = (field: "added" | "removed" | "lines") => comparisons.reduce((all, one) => all + (one?.[field] ?? 0), 0);
  const change = comparisons.includes(undefined)
    ? undefined
    : {
        hunks: comparisons.flatMap((one) => one?.hunks ?? []),
        added: sum("added"),
        removed: sum("removed"),
        lines: sum("lines"),
      };
  return real.length === 0 ? [] : [{ path, kind, change }];
}
