/** Comments on lines of cells: their lines after edits, the text for the agent, and which ones survive. */
import { beforeEach, describe, expect, test } from "vitest";
import { type CellComment, type Cells, Comments, LONGEST_MESSAGE, placeOf } from "../../src/lab/comments";

const comment = (first: number, quote: string, more: Partial<CellComment> = {}): CellComment => ({
  id: `${first} ${quote}`,
  cellId: "a",
  first,
  last: first + quote.split("\n").length - 1,
  quote,
  text: "why?",
  ...more,
});

const cells = (sources: Record<string, string>): Cells =>
  new Map(
    Object.entries(sources).map(([id, source], index) => [id, { name: `[${index + 1}]`, lines: source.split("\n") }]),
  );

beforeEach(() => sessionStorage.clear());

describe("the place of a comment", () => {
  test.each([
    ["unchanged", 2, "b", "a\nb\nc", 2, 2, false],
    ["moved down", 2, "b", "x\ny\na\nb\nc", 4, 4, false],
    ["moved up", 3, "c", "c", 1, 1, false],
    ["found several times (the nearest)", 4, "p", "p\n\n\n\np\n\n\n\n\np", 5, 5, false],
    ["several lines long", 1, "a\nb", "x\na\nb", 2, 3, false],
    ["changed", 2, "b", "a\nB\nc", 2, 2, true],
    ["deleted", 9, "b", "a", 1, 1, true],
    ["half deleted", 2, "b\nc", "a\nb", 2, 2, true],
    ["deleted with all the rest", 3, "b", "", 1, 1, true],
  ])("is computed when the code is %s", (_, at, quote, source, first, last, isChanged) => {
    expect(placeOf(comment(at, quote), source.split("\n"))).toEqual({ first, last, isChanged });
  });
});

describe("sending comments with a message", () => {
  test("adds the cell, lines and code, also if they changed or were deleted", () => {
    const comments = new Comments("nb.ipynb");
    comments.put(comment(2, "b"));
    comments.put(comment(1, "old", { cellId: "c", text: "too slow" }));
    comments.put(comment(1, "x", { cellId: "gone", text: "and this?" }));
    const taken = comments.take(cells({ a: "a\nb", c: "new" }));
    expect(taken?.label).toBe("3 comments on [1], [2], a deleted cell");
    expect(taken?.text).toContain("[1] (cell id a), line 2:\n> b\nComment: why?");
    expect(taken?.text).toContain(
      "[2] (cell id c), line 1:\n> old\nThe line has changed since. There is now:\n> new\nComment: too slow",
    );
    expect(taken?.text).toContain("A cell that was deleted since (cell id gone), line 1:\n> x\nComment: and this?");
    expect(comments.all).toEqual([]);
    expect(comments.take(cells({}))).toBeUndefined();
  });

  test("restores only the comments of a rejected message", () => {
    const comments = new Comments("nb.ipynb");
    comments.put(comment(2, "b"));
    comments.take(cells({ a: "a\nb" }));
    comments.giveBack();
    expect(comments.all).toEqual([comment(2, "b")]);
    comments.giveBack();
    comments.take(cells({ a: "a\nb" }));
    comments.take(cells({ a: "a\nb" })); // the next message is sent without comments
    comments.giveBack();
    expect(comments.all).toEqual([]);
  });

  test("splits a thousand comments over several messages", () => {
    const comments = new Comments("nb.ipynb");
    for (let line = 1; line <= 1_000; line++) comments.put(comment(line, `line ${line}`, { text: "x".repeat(200) }));
    const known = cells({ a: Array.from({ length: 1_000 }, (_, index) => `line ${index + 1}`).join("\n") });
    const first = comments.take(known);
    expect(first?.label).toMatch(/^\d+ of 1,000 comments on \[1\]$/);
    expect(first?.text.length).toBeLessThan(LONGEST_MESSAGE + 10_000);
    let sent = first?.text.match(/^Comment: /gm)?.length ?? 0;
    for (let next = comments.take(known); next; next = comments.take(known))
      sent += next.text.match(/^Comment: /gm)?.length ?? 0;
    expect(sent).toBe(1_000);
  });
});

describe("stored comments", () => {
  test("survive a reload and a rename; invalid storage is ignored", () => {
    const comments = new Comments("nb.ipynb");
    comments.put(comment(1, "a"));
    comments.put(comment(2, "b"));
    comments.put(comment(2, "b", { text: "edited" }));
    comments.remove("1 a");
    comments.moveTo("new.ipynb");
    comments.save();
    expect(new Comments("nb.ipynb").all).toEqual([]);
    expect(new Comments("new.ipynb").all).toEqual([comment(2, "b", { text: "edited" })]);
    sessionStorage.setItem("agentnb comments odd.ipynb", '[1, null, {"quote": 3}]');
    expect(new Comments("odd.ipynb").all).toEqual([]);
  });

  test("are cut when the quote or the text is too long", () => {
    const comments = new Comments("nb.ipynb");
    comments.put(comment(1, "y".repeat(9_000), { text: "z".repeat(20_000) }));
    expect(comments.all[0]?.quote.length).toBe(4_000);
    expect(comments.all[0]?.text.length).toBe(10_000);
  });
});
