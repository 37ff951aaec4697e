/** Counts how many of 300 formulas, spread over KaTeX's list of supported functions, are drawn. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { formula } from "../../src/math";

const lines = readFileSync(resolve(import.meta.dirname, "../../../tests/cases/mathematics/formulas.txt"), "utf8").split(
  "\n",
);
const formulas = lines.filter((line) => line !== "" && !line.startsWith("#"));
/** KaTeX's list contains links, pictures and HTML, which are never drawn. */
const FORBIDDEN = /^\\(?:href|url|includegraphics|html)/;

function isDrawn(source: string): boolean {
  try {
    return !formula(source, true).querySelector("merror");
  } catch {
    return false;
  }
}

test("draws at least 292 of 300 formulas and no links, pictures or HTML", () => {
  const drawn = formulas.filter(isDrawn);
  expect(formulas).toHaveLength(300);
  expect(new Set(formulas).size).toBe(300);
  expect(drawn.length).toBeGreaterThanOrEqual(292);
  expect(formulas.filter((one) => FORBIDDEN.test(one))).toHaveLength(4);
  expect(drawn.filter((one) => FORBIDDEN.test(one))).toEqual([]);
});

test("draws a numbered equation without its number", () => {
  expect(formula("\\begin{equation} a = b \\end{equation}", true).textContent).toBe("a=b");
});
