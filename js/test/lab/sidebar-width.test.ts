/** Tests the computation of the sidebar's width from the widths of the areas beside it. */
import { expect, test } from "vitest";
import { widened } from "../../src/lab/sidebar-width";

test.each<[string, number[], number, number | undefined, number[] | undefined]>([
  ["a narrow sidebar gets room for a table, from the notebook", [250, 800, 250], 2, undefined, [250, 630, 420]],
  ["a wide one stays", [250, 700, 500], 2, undefined, undefined],
  ["a width that the user chose comes back", [0, 900, 300], 2, 340, [0, 860, 340]],
  ["also a narrower one", [0, 700, 500], 2, 300, [0, 900, 300]],
  ["the notebook keeps half of a small window", [0, 400, 200], 2, undefined, [0, 300, 300]],
  ["a choice from a larger window, too", [0, 400, 200], 2, 900, [0, 300, 300]],
  ["what is as it should be is left alone", [0, 900, 340], 2, 340, undefined],
  ["what is not laid out yet is left alone", [0, 0, 0], 2, undefined, undefined],
])("%s", (_, widths, at, chosen, expected) => {
  expect(widened(widths, at, chosen)).toEqual(expected);
});
