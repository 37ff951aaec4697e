/** Generated hostile documents: reading them takes time in proportion to their length, in short steps. */
import { expect, test } from "vitest";
import { lex } from "../../src/view/markdown/lexer";
import { MarkdownStream } from "../../src/view/markdown/stream";
import type { Token } from "../../src/view/markdown/token";
import { shortest } from "../growth";
import { thoroughCases } from "../thorough";
import { drawn } from "./markdown-page";

const MARKS = [..."*_~[](<`\\&!|#>\t x\n\r"].concat(
  "é*",
  "😀",
  "</",
  "<!--",
  "&#1",
  "www.",
  "http://",
  "](",
  "![",
  "\\*",
);
const AROUND = [
  "*a_",
  "**a ",
  "[a](",
  "[[a]",
  "](a '",
  "a@",
  "a@b.c ",
  "<a ",
  "<a@b",
  "``a`",
  "a_b",
  "~~a",
  "{a:",
  '"a',
];
const LINES = [
  "- a",
  "1. a",
  "> a",
  "- - a",
  "> - a\nb",
  "* a\n  * b",
  "|a|b|\n|-|-|",
  "|*a_|",
  "[a]: b",
  "[a]:",
  "a\n=",
  "    a",
];
const MIXED = [
  "> *a_\n> - *b_\n",
  "- a\n\n  ```\n  b\n",
  "```\n",
  "~~~\na\n",
  "<div>\n",
  "# *a_\n",
  "[a]\n\n[a]: b\n\n",
];
const UNITS = [...MARKS, ...AROUND, ...LINES.map((line) => `${line}\n`), ...MIXED];
const SHORT = 6_000;

function read(text: string): Token[] {
  const stream = new MarkdownStream();
  while (!stream.update(text, 0)) stream.open(false);
  return [...stream.frozen, ...stream.open(true)];
}

test.each(thoroughCases(UNITS))("reads repeated %j in roughly linear time", (unit) => {
  const text = unit.repeat(SHORT / unit.length);
  const long = text.repeat(4);
  read(text); // warms the code up
  const isFine = (small: number, large: number) => large < 10 * Math.max(small, 15);
  const took = shortest(
    () => read(text),
    () => read(long),
    isFine,
  );
  expect(isFine(...took), `${took} ms`).toBe(true);
});

test.each(UNITS)("reads a long text of %j completely, in several steps", (unit) => {
  const text = unit.repeat(40_000 / unit.length).replace(/\r\n?/g, "\n");
  const stream = new MarkdownStream();
  let steps = 1;
  while (!stream.update(text, 0)) steps += 1;
  expect(steps).toBeGreaterThan(4);
  const raw = [...stream.frozen, ...stream.open(true)].map((token) => token.raw).join("");
  const letters = (all: string) => all.replace(/\s/g, "").length;
  expect(letters(raw)).toBeGreaterThanOrEqual(letters(text.trim()) * 0.99);
});

test.each([
  [">", 1_000],
  ["- ", 1_000],
  ["1. ", 1_000],
  ["> - ", 1_000],
] as const)("shows %j nested %i levels deep as text", (mark, levels) => {
  expect(lex(`${mark.repeat(levels)}deep`)).toEqual([
    { type: "plain", raw: `${mark.repeat(levels)}deep`, text: `${mark.repeat(levels)}deep` },
  ]);
});

test("shows a table of 1,000 columns as text", () => {
  const text = `${"|a".repeat(1000)}|\n${"|-".repeat(1000)}|\n${"|b\n".repeat(100)}`;
  expect(lex(text).map(({ type }) => type)).toEqual(["plain"]);
});

test("formats the blocks around one that is nested too deeply", () => {
  const page = drawn(`**before**\n\n${">".repeat(500)} deep\n\n*after*\n`);
  expect(page.element.querySelector("strong")?.textContent).toEqual("before");
  expect(page.element.querySelector("em")?.textContent).toEqual("after");
  expect(page.element.querySelectorAll("blockquote").length).toEqual(0);
});

test("continues the numbers of a split list, repeats a split table's header", () => {
  const list = drawn(Array.from({ length: 400 }, (_, at) => `${at + 1}. item ${at + 1}\n`).join("")).element;
  expect(list.querySelectorAll("li").length).toEqual(400);
  const starts = [...list.querySelectorAll("ol")].map((one) => [one.start, one.querySelector("li")?.textContent]);
  expect(starts.length).toBeGreaterThan(1);
  for (const [start, first] of starts) expect(first).toEqual(`item ${start}`);
  const table = drawn(`| n |\n|---|\n${Array.from({ length: 400 }, (_, at) => `| ${at} |\n`).join("")}`).element;
  expect(table.querySelectorAll("td").length).toEqual(400);
  expect(new Set([...table.querySelectorAll("th")].map((cell) => cell.textContent))).toEqual(new Set(["n"]));
});
