/** The page does not trust the kernel's answer about the cells' authors. */
import { expect, test } from "vitest";
import { readAnswer } from "../../src/lab/provenance-answer";

const CELL = { index: 0, id: "a", lines: [[1, 2, 0]], turns: [0], isEdited: false };

test("fills in defaults for omitted fields", () => {
  const turn = { session: "claude:/1", turn: "t", agent: "claude" };
  const answer = readAnswer({ cells: [{ cell: CELL }], turns: [turn], titles: { claude: "Claude" }, isSaved: false });
  expect(answer.cells).toEqual([{ ...CELL, saved: null }]);
  expect(answer.turns).toEqual([{ ...turn, isKept: true, fromNotebook: false }]);
});

test.each([null, {}, { cells: [] }, "cells", { cells: {}, turns: [] }])("rejects %j as an invalid answer", (answer) => {
  expect(() => readAnswer(answer)).toThrow("can't be read");
});
