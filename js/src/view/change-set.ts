/** Reads a change set for the views: its changes, their numbers by kind, and the possible actions. */
import { table } from "../state/object";
import type { ChangesetState, JsonObject, TurnChanges } from "../state/types.gen";
import { count, line } from "./plain";

/** A cell's former place: its notebook, the cell above it, and its index from 0. */
export interface CellPlace {
  readonly notebook: string;
  readonly below: string | undefined;
  readonly index: number;
  readonly kind: "code" | "markdown";
}

export interface Change {
  readonly id: string;
  readonly kind: "file" | "cell" | "variable";
  /** A file's raw path in the workspace: not safe to show. */
  readonly path: string;
  /** The name to show: contains no hidden characters. */
  readonly name: string;
  /** The name before the change. */
  readonly was: string;
  readonly status: "added" | "changed" | "deleted" | "moved";
  /** `offered`: a cell that is in the notebook's file but not yet in the notebook. */
  readonly state: "open" | "kept" | "undone" | "offered";
  /** Other changes than the text's, in a few words. */
  readonly detail: string;
  /** Who made it, and other remarks, in a few words each. */
  readonly remarks: readonly string[];
  readonly undoable: boolean;
  /**
   * It contains the user's own work, or belongs to another tab: undone only by itself, not with all (`is_left_alone`).
   */
  readonly isLeftAlone: boolean;
  readonly isBinary: boolean;
  /** True if parts of it can be kept or undone. */
  readonly isDivisible: boolean;
  /** Number of undone parts, which can be redone. */
  readonly undoneParts: number;
  /** Numbers of added and removed lines; absent if unknown. */
  readonly lines: { readonly added: number; readonly removed: number } | undefined;
  /** The place of a deleted cell. */
  readonly place: CellPlace | undefined;
  /** The addresses of both sides' content; "" for a side that does not exist. */
  readonly before: string;
  readonly after: string;
}

/** The remark on most files that a command changed: shown only in the tooltip. */
export const DURING = "while the agent worked";

const WHOSE: Record<string, string> = table({
  toolCall: "", // the usual case: no remark
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

function address(side: unknown): string {
  const { uri, content } = object(side);
  return String(object(content).uri ?? uri ?? "");
}

/** Numbers of changes by kind and by state. */
export interface Tally {
  readonly files: number;
  readonly cells: number;
  readonly variables: number;
  readonly added: number;
  readonly removed: number;
  readonly undone: number;
  readonly kept: number;
  /** Number of changes that *Undo* would undo. */
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

/** Returns "3 files", "2 cells", "1 variable", without the kinds that have none. */
export function inWords({ files, cells, variables }: Pick<Tally, "files" | "cells" | "variables">): string[] {
  const kinds: [number, string][] = [
    [files, "file"],
    [cells, "cell"],
    [variables, "variable"],
  ];
  return kinds.filter(([number]) => number > 0).map(([number, one]) => many(number, one));
}
