/** Tests the computation of the sidebar's width from the widths of the areas beside it. */
import { expect, test } from "vitest";
import { widened } from "../../src/lab/sidebar-width";

test.each<[string, number[], number, number | undefined, number[] | undefined]>([
  ["a narrow sidebar is widened at the notebook's expense", [250, 800, 250], 2, undefined, [250, 630, 420]],
  ["a wide sidebar keeps its width", [250, 700, 500], 2, undefined, undefined],
  ["the width chosen by the user is restored", [0, 900, 300], 2, 340, [0, 860, 340]],
  ["a narrower width chosen by the user is restored too", [0, 700, 500], 2, 300, [0, 900, 300]],
  ["the notebook keeps half of a small window", [0, 400, 200], 2, undefined, [0, 300, 300]],
  ["a width chosen in a larger window is limited to half", [0, 400, 200], 2, 900, [0, 300, 300]],
  ["a sidebar with the chosen width is not changed", [0, 900, 340], 2, 340, undefined],
  ["a page without layout is not changed", [0, 0, 0], 2, undefined, undefined],
])("%s", (_, widths, at, chosen, expected) => {
  expect(widened(widths, at, chosen)).toEqual(expected);
});
