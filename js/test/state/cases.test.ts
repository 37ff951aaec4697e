/**
 * The reducer cases that pytest runs too: our own, and the cases of the folder in AGENTNB_CASES.
 * `null` means absent; an action without a time gets 9,999 ms.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { reduceChangeset } from "../../src/state/changeset.ts";
import { reduceChat, reduceRoot, reduceSession } from "../../src/state/reduce.ts";

interface Case {
  description: string;
  reducer: string;
  initial: unknown;
  actions: { type: string; time?: number }[];
  expected: unknown;
}

type Reduce = (state: never, action: { type: string }) => unknown;

const REPOSITORY = resolve(import.meta.dirname, "../../..");
const CASE_TIME = 9999;
const REDUCERS: Record<string, Reduce> = {
  root: reduceRoot,
  session: reduceSession,
  chat: reduceChat,
  changeset: reduceChangeset,
} as never;

/** The actions that only the kernel reduces: it sends a page the whole state instead. */
const MEMBERS = /^session\/(activeClient|customization|mcpServer)/;

function skipReason(one: Case): string | undefined {
  if (one.actions.some(({ type }) => MEMBERS.test(type))) return "only the kernel reduces members of a session";
  return one.reducer in REDUCERS ? undefined : `a page follows no ${one.reducer} channel`;
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(kept.map(([name, field]) => [name, withoutNulls(field)]));
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null)
    for (const field of Object.values(Object.freeze(value))) freeze(field);
  return value;
}

function run(one: Case): { before: unknown; after: unknown } {
  const reduce = REDUCERS[one.reducer] as Reduce;
  const before = freeze(withoutNulls(one.initial));
  const actions = one.actions.map((action) => freeze({ time: CASE_TIME, ...(withoutNulls(action) as object) }));
  return { before, after: actions.reduce((state, action) => reduce(state as never, action as never), before) };
}

function load(folder: string): [string, Case][] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".json"));
  return files
    .sort()
    .map((file) => [file.replace(/\.json$/, ""), JSON.parse(readFileSync(join(folder, file), "utf8")) as Case]);
}

const folders: [string, string][] = [
  ["our cases", join(REPOSITORY, "tests/cases/reducer")],
  ...(process.env.AGENTNB_CASES ? [["AGENTNB_CASES", process.env.AGENTNB_CASES] as [string, string]] : []),
];

for (const [title, folder] of folders) {
  describe(title, () => {
    for (const [name, one] of load(folder)) {
      const reason = skipReason(one);
      if (reason) test.skip(`${name}: ${reason}`, () => {});
      else
        test(`${name}: ${one.description}`, () => {
          const { before, after } = run(one);
          const expected = withoutNulls(one.expected);
          expect(withoutNulls(after)).toEqual(expected);
          expect(after).toStrictEqual(JSON.parse(JSON.stringify(after)));
          if (isDeepStrictEqual(before, expected)) expect(after).toBe(before);
        });
    }
  });
}
