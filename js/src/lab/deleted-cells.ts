/** Where deleted cells were, seen from the cells that are there: for the marks in the notebook. */
import type { CellChange } from "../view/store";

export interface Gap {
  /** The index of the cell that it was below; -1 at the top. */
  readonly below: number;
  /** Of several deleted cells in one gap: which comes first. */
  readonly order: number;
}

/**
 * The gap of each deleted cell in a notebook with the cells `ids`. A cell that was below a deleted one stands in the
 * same gap, behind it. One whose neighbour is not known is put at the place that it had.
 */
export function gapsOf(deleted: readonly CellChange[], ids: readonly string[]): Map<CellChange, Gap> {
  const indices = new Map(ids.map((id, index) => [id, index]));
  const gone = new Set(deleted.map(({ cellId }) => cellId));
  const behind = new Map<string, CellChange[]>();
  for (const change of deleted) {
    const { below = "" } = change.place ?? {};
    behind.set(below, [...(behind.get(below) ?? []), change]);
  }
  const gaps = new Map<CellChange, Gap>();
  const place = (first: CellChange): void => {
    const { below, index = 0 } = first.place ?? {};
    const known = below === undefined ? -1 : indices.get(below);
    const at = known ?? Math.min(index, ids.length) - 1;
    const waiting = [first];
    for (let change = waiting.pop(); change; change = waiting.pop()) {
      if (gaps.has(change)) continue;
      gaps.set(change, { below: at, order: gaps.size });
      waiting.push(...(behind.get(change.cellId) ?? []).toReversed());
    }
  };
  for (const change of deleted) if (!gone.has(change.place?.below ?? "")) place(change);
  for (const change of deleted) if (!gaps.has(change)) place(change);
  return gaps;
}
