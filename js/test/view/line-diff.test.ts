import { structuredPatch } from "diff";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Hunk, lineDiff } from "../../src/view/parts/line-diff";

/** Applies the hunks to a text as a patch program would. */
function patched(text: string, hunks: Hunk[]): string {
  const lines = text.split("\n").slice(0, -1);
  const made: string[] = [];
  let at = 0;
  for (const { oldStart, lines: changes } of hunks) {
    while (at < oldStart - 1) made.push(lines[at++] as string);
    for (const change of changes) {
      if (change.startsWith("\\")) continue;
      if (!change.startsWith("-")) made.push(change.slice(1));
      if (!change.startsWith("+")) {
        expect(lines[at]).toEqual(change.slice(1));
        at += 1;
      }
    }
  }
  return [...made, ...lines.slice(at)].map((line) => `${line}\n`).join("");
}

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

describe("a diff of lines", () => {
  test("turns the old text into the new one, and is as short as jsdiff's", () => {
    vi.useFakeTimers({ toFake: ["Date"] }); // stops the clock: a busy machine cannot use up the time for a comparison
    onTestFinished(() => void vi.useRealTimers());
    for (let seed = 1; seed <= 400; seed += 1) {
      const next = random(seed);
      const text = () =>
        Array.from({ length: Math.floor(next() * 14) }, () => `${"abcde"[Math.floor(next() * 5)]}\n`).join("");
      const [before, after] = [text(), text()];
      const hunks = lineDiff(before, after);
      expect(patched(before, hunks)).toEqual(after);
      const theirs = structuredPatch("", "", before, after, undefined, undefined, { context: 3 });
      const changes = (all: { lines: string[] }[]) =>
        all.flatMap(({ lines }) => lines).filter((line) => /^[+-]/.test(line)).length;
      expect(changes(hunks), JSON.stringify([before, after])).toEqual(changes(theirs.hunks));
    }
  });

  test("numbers its hunks and includes three lines of context", () => {
    const lines = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`);
    const after = lines.with(4, "changed").with(24, "changed too");
    const hunks = lineDiff(`${lines.join("\n")}\n`, `${after.join("\n")}\n`);
    expect(hunks.map(({ oldStart, newStart, lines: all }) => [oldStart, newStart, all.length])).toEqual([
      [2, 2, 8],
      [22, 22, 8],
    ]);
    expect(hunks[0]?.lines).toEqual([
      " line 2",
      " line 3",
      " line 4",
      "-line 5",
      "+changed",
      " line 6",
      " line 7",
      " line 8",
    ]);
  });

  test("marks a missing newline at the end", () => {
    expect(lineDiff("a\n", "a")[0]?.lines).toEqual(["-a", "+a", "\\ No newline at end of file"]);
    expect(lineDiff("a", "a")).toEqual([]);
  });

  test("handles long new files and long texts with nothing in common", () => {
    const many = Array.from({ length: 20_000 }, (_, at) => `${at}\n`).join("");
    expect(lineDiff("", many)[0]?.lines.length).toEqual(20_000);
    expect(lineDiff(many, many.replaceAll("\n", "x\n"))[0]?.lines.length).toEqual(40_000);
  });
});
