/** Formats data checks as text, a line for each table. */
import type { DataCheck } from "../state/types.gen";
import { count, line } from "./plain";

const LONGEST = 300;

export function byTable(checks: readonly DataCheck[]): DataCheck[][] {
  const tables = new Map<string, DataCheck[]>();
  for (const check of checks) tables.set(check.table, [...(tables.get(check.table) ?? []), check]);
  return [...tables.values()];
}

/** Returns a table's change in rows, its first finding, and the number of further ones. */
export function lineOf(checks: readonly DataCheck[]): string {
  const [first] = checks;
  if (!first) return "";
  const { table, rowsBefore, rowsAfter } = first;
  const isOther = rowsBefore !== undefined && rowsAfter !== undefined && rowsBefore !== rowsAfter;
  const rows = isOther ? ` rows ${count(rowsBefore)} → ${count(rowsAfter)}` : "";
  const more = checks.length > 1 ? `, and ${checks.length - 1} more` : "";
  return `\`${line(table, 60)}\`${rows}: ${line(first.text, LONGEST)}${more}`;
}
