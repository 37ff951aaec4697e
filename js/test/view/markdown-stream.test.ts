import { expect, test } from "vitest";
import { lex } from "../../src/view/markdown/lexer";
import { MarkdownStream } from "../../src/view/markdown/stream";
import { thoroughCount } from "../thorough";
import { drawn, MarkdownPage } from "./markdown-page";

const PIECES = [
  "A plain line of text\n",
  "with **bold** and *italics* and `code`\n",
  "\n",
  "\n\n",
  "# Heading\n",
  "Setext\n===\n",
  "Setext two\n---\n",
  "- one\n",
  "- two\n  - nested\n",
  "* star\n",
  "1. first\n",
  "2. second\n\n",
  "   continued\n",
  "- [x] task\n",
  "> quoted\n",
  "> - list in quote\n",
  "lazy\n",
  "```python\nx = 1\n```\n",
  "~~~\nraw ``` inside\n~~~\n",
  "```\nunclosed\n",
  "    indented code\n",
  "| a | b |\n|---|:-:|\n| 1 | 2 |\n",
  "a | b\n--|--\n1 | 2\n",
  "---\n",
  "***\n",
  "<div>raw *html*</div>\n",
  "<!-- comment\nmore -->\n",
  "[ref]: https://example.org 'title'\n",
  "see [ref] and [link](https://example.org/a_(b)) and ![pic](x.png)\n",
  "https://example.org/auto_link_ and a@b.org\n",
  "a &amp; b &#8594; c\n",
  "trailing spaces  \n",
  "snake_case_name and 2*3*4 and ~~gone~~\n",
  "\ttabbed\n",
  "2",
  "-",
  "1",
  "windows line\r\n",
  "\r\n",
];

/** A small generator of pseudo-random numbers, so that failures are reproducible. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function document(pick: (below: number) => number): string {
  let text = "";
  for (let left = 2 + pick(9); left > 0; left -= 1) text += PIECES[pick(PIECES.length)];
  return text;
}

function blocks(text: string): unknown[] {
  const stream = new MarkdownStream();
  stream.update(text);
  return [...stream.frozen, ...stream.open(true)];
}

test("a streamed text has the same blocks as the whole text", () => {
  const pick = random(20261121);
  for (let round = 0; round < thoroughCount(3000); round += 1) {
    const text = document(pick);
    const stream = new MarkdownStream();
    for (let at = 0; at < text.length; at += 1 + pick(12)) {
      stream.update(text.slice(0, at));
      if (pick(3) === 0) stream.open(false);
    }
    stream.update(text);
    const whole = lex(text.replace(/\r\n?/g, "\n")).filter((token) => token.type !== "space");
    const got = [...stream.frozen, ...stream.open(true)];
    expect(shape(got), JSON.stringify(text)).toEqual(shape(whole));
  }
});

/** The drawn part of tokens: `raw` differs in the newlines after a block, which are invisible. */
function shape(tokens: unknown): unknown {
  const text = JSON.stringify(tokens, (key, value) => (key === "raw" ? undefined : value));
  return JSON.parse(text);
}

test("a streamed text has the same HTML as the whole text", () => {
  const pick = random(7);
  for (let round = 0; round < thoroughCount(150); round += 1) {
    const text = document(pick);
    const page = new MarkdownPage();
    for (let at = 0; at < text.length; at += 1 + pick(20)) page.draw(text.slice(0, at), true);
    page.draw(text, false);
    expect(page.html, JSON.stringify(text)).toEqual(drawn(text).html);
  }
});

test("blocks before the last one keep their token objects", () => {
  const stream = new MarkdownStream();
  stream.update("# One\n\nTwo\n\nThree\n");
  const first = [...stream.frozen];
  stream.update("# One\n\nTwo\n\nThree\n\nFour\n\nFive\n");
  expect(first.length).toEqual(2);
  expect(stream.frozen.slice(0, 2).every((token, at) => token === first[at])).toEqual(true);
});

test("a text that does not continue the previous one is parsed again", () => {
  const stream = new MarkdownStream();
  stream.update("# One\n\nTwo\n\nThree\n");
  stream.update("Other text\n\nEnd");
  expect(shape([...stream.frozen, ...stream.open(true)])).toEqual(shape(blocks("Other text\n\nEnd")));
});

test("a late link definition turns earlier references into links", () => {
  const page = new MarkdownPage();
  const text = "See [docs] first.\n\nMore.\n\n[docs]: https://example.org/docs\n";
  for (let at = 0; at <= text.length; at += 5) page.draw(text.slice(0, at), true);
  page.draw(text, false);
  expect(page.element.querySelector("a")?.getAttribute("href")).toEqual("https://example.org/docs");
});

test("a growing text is parsed again only in its last few lines", () => {
  const unit =
    "## Title\n\nSome **bold** text with `code` in it.\n\n- one\n- two\n\n```python\nx = [i for i in y]\n```\n\n";
  const text = unit.repeat(1000);
  const stream = new MarkdownStream();
  let [blocks, read, longest] = [0, 0, 0];
  for (let at = 0; at <= text.length; at += 50) {
    stream.update(text.slice(0, at));
    for (const { raw } of stream.frozen.slice(blocks)) read = text.indexOf(raw, read) + raw.length;
    blocks = stream.frozen.length;
    longest = Math.max(longest, at - read);
  }
  expect(longest).toBeLessThan(2 * unit.length);
});
