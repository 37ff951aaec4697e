import { describe, expect, it } from "vitest";
import { smallestEdit } from "../../src/lab/edits";

const applied = (before: string, after: string): string => {
  const { start, end, text } = smallestEdit(before, after);
  return before.slice(0, start) + text + before.slice(end);
};

describe("the smallest edit", () => {
  it.each([
    ["", ""],
    ["", "a"],
    ["a", ""],
    ["x = 1", "x = 100"],
    ["aaa", "aa"],
    ["aa", "aaa"],
    ["abc", "xyz"],
    ["a\nb\nc", "a\nB\nc"],
    ["😀", "😁"],
    ["x😀y", "x😁y"],
    ["😀😀", "😀"],
  ])("makes %j into %j", (before, after) => {
    expect(applied(before, after)).toBe(after);
  });

  it("touches only what differs", () => {
    expect(smallestEdit("x = 1\ny = 2\nz = 3", "x = 1\ny = 20\nz = 3")).toEqual({ start: 11, end: 11, text: "0" });
  });

  it("changes nothing where nothing differs", () => {
    expect(smallestEdit("same", "same")).toEqual({ start: 4, end: 4, text: "" });
  });

  it("never cuts a character of two code units in half", () => {
    expect(smallestEdit("😀", "😁")).toEqual({ start: 0, end: 2, text: "😁" });
    expect(smallestEdit("\u{1F600}", "\u{1FA00}")).toEqual({ start: 0, end: 2, text: "\u{1FA00}" });
    expect(smallestEdit("a\u{10000}b", "a\u{10400}b")).toEqual({ start: 1, end: 3, text: "\u{10400}" });
  });
});
