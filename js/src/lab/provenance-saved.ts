/**
 * Reads who wrote a notebook's cells from its metadata (agentnb/plugins/provenance/cell_metadata.py), without a kernel.
 */
import type { Answer, Lines, Marked, WritingTurn } from "./provenance-answer";

/** A cell as the page has it, with our value in its metadata. */
export interface SavedCell {
  readonly id: string;
  readonly source: string;
  readonly saved?: string;
}

const WORD = "[\\w.:+@-]{1,48}";
const RANGE = "\\d{1,7}(?:-\\d{1,7})?";
const SAVED = new RegExp(
  `^(${WORD}) (${WORD}) (?:\\d{4}-\\d\\d-\\d\\d|-) ([\\w-]{1,64})/([\\w-]{1,64}) (${RANGE}(?:,${RANGE}){0,99}) ([0-9a-f]{8})$`,
);
const LONGEST = 2_000;
const MOST_TURNS = 8;
/** The characters that Python's `str.rstrip` removes. */
const BLANKS_AT_END = /[\s\x1c-\x1f\x85]+$/;

/**
 * Shown as text; a line counts only if its digest is right. Not checked: the author, because whoever can write the
 * notebook can write the key.
 */
export async function savedAnswer(
  cells: readonly SavedCell[],
  crypto: SubtleCrypto | null = globalThis.crypto?.subtle ?? null,
): Promise<Answer> {
  const turns: WritingTurn[] = [];
  const marked = await Promise.all(
    cells.map((cell, index) => (cell.saved ? markedOf(cell, index, turns, crypto) : undefined)),
  );
  return { cells: marked.filter((one) => one !== undefined), turns, titles: {}, isSaved: false };
}

async function markedOf(
  cell: SavedCell,
  index: number,
  turns: WritingTurn[],
  crypto: SubtleCrypto | null,
): Promise<Marked | undefined> {
  const { id, source, saved = "" } = cell;
  if (saved.length > LONGEST) return undefined;
  const claims = saved.split("; ", MOST_TURNS).map((one) => SAVED.exec(one));
  const texts = source === "" ? [] : source.split("\n").map((line) => line.replace(BLANKS_AT_END, ""));
  const lines: Lines[] = [];
  const numbers: number[] = [];
  let isEdited = false;
  let isKnown = true;
  for (const match of claims) {
    if (!match) continue;
    const [, agent = "", model = "", session, turn = "", ranges = "", digest] = match;
    const number = numberOf(turns, { session: `${agent}:/${session}`, turn, agent, ...(model !== "-" && { model }) });
    const chosen = ranges.split(",").map((range): Lines => {
      const [first = 0, last = first] = range.split("-").map(Number);
      return [first, last, number];
    });
    const isThere = chosen.every(([first, last]) => first > 0 && first <= last && last <= texts.length);
    const own = isThere ? chosen.flatMap(([first, last]) => texts.slice(first - 1, last)) : [];
    const currentDigest = isThere ? await digestOf(own.join("\n"), crypto) : "";
    isKnown &&= currentDigest !== undefined;
    if (currentDigest === digest) lines.push(...chosen);
    else isEdited ||= currentDigest !== undefined;
    numbers.push(number);
  }
  if (!numbers.length) return undefined;
  return { index, id, lines: isKnown && !isEdited ? lines : [], turns: numbers, isEdited, saved: null };
}

function numberOf(turns: WritingTurn[], one: Omit<WritingTurn, "isKept" | "fromNotebook">): number {
  const known = turns.findIndex(({ session, turn }) => session === one.session && turn === one.turn);
  return known >= 0 ? known : turns.push({ ...one, isKept: false, fromNotebook: true }) - 1;
}

/**
 * Returns the beginning of the SHA-256; undefined if the page may not compute it (no https): the lines are then
 * unknown.
 */
async function digestOf(text: string, crypto: SubtleCrypto | null): Promise<string | undefined> {
  const bytes = await crypto?.digest("SHA-256", new TextEncoder().encode(text));
  return bytes && [...new Uint8Array(bytes, 0, 4)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
