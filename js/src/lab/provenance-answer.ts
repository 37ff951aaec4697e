/** Reads the kernel's answer about the authors of cells (agentnb/plugins/provenance/requests.py). */
import { isObject } from "../state/object";

/** Lines from 1, and the number of the turn that wrote them; null: the user's. */
export type Lines = readonly [first: number, last: number, turn: number | null];

export interface Marked {
  readonly index: number;
  readonly id: string;
  readonly lines: readonly Lines[];
  readonly turns: readonly number[];
  readonly isEdited: boolean;
  /** The value for the cell's metadata; null: unchanged. */
  readonly saved: string | null;
}

/** `ProvenanceTurn` of agentnb/plugins/provenance/turns.py. */
export interface WritingTurn {
  readonly session: string;
  readonly turn: string;
  readonly agent: string;
  readonly model?: string;
  readonly number?: number;
  readonly prompt?: string;
  readonly isKept: boolean;
  readonly fromNotebook: boolean;
}

export interface Answer {
  readonly cells: readonly Marked[];
  readonly turns: readonly WritingTurn[];
  readonly titles: Readonly<Record<string, string>>;
  readonly isSaved: boolean;
}

export const NONE: Answer = { cells: [], turns: [], titles: {}, isSaved: false };

export function readAnswer(answer: unknown): Answer {
  if (!isObject(answer) || !Array.isArray(answer.cells) || !Array.isArray(answer.turns))
    throw new Error("The kernel's answer can't be read.");
  const titles = isObject(answer.titles) ? (answer.titles as Record<string, string>) : {};
  return {
    cells: answer.cells.map(({ cell, saved = null }) => ({ ...cell, saved })),
    turns: answer.turns.map((turn) => ({ isKept: true, fromNotebook: false, ...turn })),
    titles,
    isSaved: answer.isSaved === true,
  };
}
