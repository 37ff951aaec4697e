/** A change set as a view reads it: its changes, how many of which kind, and what can be done with them. */
import { table } from "../state/object";
import type { ChangesetState, JsonObject, TurnChanges } from "../state/types.gen";
import { count, line } from "./plain";

/** Where a cell was: in which notebook, below which cell and at which place from 0. */
export interface CellPlace {
  readonly notebook: string;
  readonly below: string | undefined;
  readonly index: number;
  readonly kind: "code" | "markdown";
}

export interface Change {
  readonly id: string;
  readonly kind: "file" | "cell" | "variable";
  /** A file's path in the workspace, as it is: not to be shown. */
  readonly path: string;
  /** What it is called: nothing in it hides. */
  readonly name: string;
  /** What it was called before. */
  readonly was: string;
  readonly status: "added" | "changed" | "deleted" | "moved";
  /** `offered`: a cell that is in the notebook's file and not yet in the notebook. */
  readonly state: "open" | "kept" | "undone" | "offered";
  /** What else than the text was changed, in a few words. */
  readonly detail: string;
  /** Whose it is, and what else there is to know, in a few words each. */
  readonly remarks: readonly string[];
  readonly undoable: boolean;
  /** The user's own work is in it, or it is another tab's: undone by itself only, not with all (`is_left_alone`). */
  readonly isLeftAlone: boolean;
  readonly isBinary: boolean;
  /** Whether parts of it can be kept or undone. */
  readonly isDivisible: boolean;
  /** How many parts of it were undone, and can be redone. */
  readonly undoneParts: number;
  /** Lines that came and went; absent where they are not known. */
  readonly lines: { readonly added: number; readonly removed: number } | undefined;
  /** Where a deleted cell was. */
  readonly place: CellPlace | undefined;
  /** Where each side's content is; "" for a side that is not there. */
  readonly before: string;
  readonly after: string;
}

/** Of most files that a command wrote: said where one looks closer. */
export const DURING = "while the agent worked";

const WHOSE: Record<string, string> = table({
  toolCall: "", // that is what one expects
  during: DURING,
  otherTab: "also changed by another tab",
  user: "your save",
});

export const KINDS = table({ file: "Files", cell: "Cells", variable: "Variables" } as const);

export function changesOf(state: ChangesetState | undefined): Change[] {
  return (state?.files ?? []).map(({ id, edit, _meta }) => {
    const meta = object(_meta?.agentnb);
    const path = String(meta.name ?? id);
    const diff = object(edit?.diff);
    const who = Array.isArray(meta.by) ? meta.by.map(String) : [];
    const by = who.map((one) => WHOSE[one]);
    const undoable = meta.undoable === true;
    return {
      id,
      path,
      kind: meta.kind === "cell" || meta.kind === "variable" ? meta.kind : "file",
      name: line(path, 500) || "(no name)",
      was: line(meta.was, 500),
      status: (meta.status as Change["status"]) ?? "changed",
      state: (meta.state as Change["state"]) ?? "open",
      detail: line(meta.detail, 300),
      remarks: [line(meta.detail, 300), line(meta.mode, 60), ...by, undoable ? "" : line(meta.reason, 300)].filter(
        (one): one is string => Boolean(one),
      ),
      undoable,
      isLeftAlone: who.includes("user") || (who.length > 0 && who.every((one) => one === "otherTab")),
      isBinary: meta.binary === true,
      isDivisible: meta.divisible === true,
      undoneParts: typeof meta.undoneParts === "number" ? meta.undoneParts : 0,
      lines:
        typeof diff.added === "number" && typeof diff.removed === "number"
          ? { added: diff.added, removed: diff.removed }
          : undefined,
      place: placeOf(meta),
      before: address(edit?.before),
      after: address(edit?.after),
    };
  });
}

const object = (value: unknown): JsonObject =>
  value !== null && typeof value === "object" ? (value as JsonObject) : {};

function placeOf({ place, language }: JsonObject): CellPlace | undefined {
  const { notebook, below, index } = object(place);
  if (typeof notebook !== "string") return undefined;
  return {
    notebook,
    below: typeof below === "string" ? below : undefined,
    index: typeof index === "number" ? index : 0,
    kind: language === "markdown" ? "markdown" : "code",
  };
}

/** Where the content of one side is: another address where the content is another. */
function address(side: unknown): string {
  const { uri, content } = object(side);
  return String(object(content).uri ?? uri ?? "");
}

/** How many changes there are of each kind, and how they stand. */
export interface Tally {
  readonly files: number;
  readonly cells: number;
  readonly variables: number;
  readonly added: number;
  readonly removed: number;
  readonly undone: number;
  readonly kept: number;
  /** How many *Undo* would undo. */
  readonly undoable: number;
}

export function tallyOf(changes: TurnChanges): Tally {
  const { files = 0, cells = 0, variables = 0, added = 0, removed = 0, undone = 0, kept = 0 } = changes;
  const undoable = changes.undoable ?? Math.max(0, files + cells + variables - undone - kept);
  return { files, cells, variables, added, removed, undone, kept, undoable };
}

export function tallyOfAll(changes: readonly Change[]): Tally {
  const number = (check: (change: Change) => boolean) => changes.filter(check).length;
  const sum = (side: "added" | "removed") => changes.reduce((all, { lines }) => all + (lines?.[side] ?? 0), 0);
  return {
    files: number(({ kind }) => kind === "file"),
    cells: number(({ kind }) => kind === "cell"),
    variables: number(({ kind }) => kind === "variable"),
    added: sum("added"),
    removed: sum("removed"),
    undone: number(({ state }) => state === "undone"),
    kept: number(({ state }) => state === "kept"),
    undoable: number(({ state, undoable, isLeftAlone }) => undoable && state === "open" && !isLeftAlone),
  };
}

export const totalOf = ({ files, cells, variables }: Tally): number => files + cells + variables;

export function many(number: number, one: string): string {
  return `${count(number)} ${one}${number === 1 ? "" : "s"}`;
}

/** "3 files", "2 cells", "1 variable": those that there are. */
export function inWords({ files, cells, variables }: Pick<Tally, "files" | "cells" | "variables">): string[] {
  const kinds: [number, string][] = [
    [files, "file"],
    [cells, "cell"],
    [variables, "variable"],
  ];
  return kinds.filter(([number]) => number > 0).map(([number, one]) => many(number, one));
}
