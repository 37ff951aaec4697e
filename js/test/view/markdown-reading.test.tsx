/** Compares the drawn Markdown with what marked alone reads, for blocks of every kind, alone and in pairs. */
import { Lexer, type Token as Theirs } from "marked";
import { render } from "preact";
import { expect, test } from "vitest";
import { ANSWER } from "../../dev/texts";
import { type View, ViewContext } from "../../src/view/context";
import { lex } from "../../src/view/markdown/lexer";
import type { Token } from "../../src/view/markdown/token";
import { drawToken } from "../../src/view/markdown/tokens";

const BLOCKS: string[] = [
  "**a** b*c*d _e_ __f__ ***g***\n",
  "a **b *c* d** e\n",
  "`` a`b `` c\n",
  "[x](y 'z') [r] ![i](j)\n",
  "<b>x</b> <https://a.b> <a@b.c>\n",
  "1) x\n",
  "10. y\n",
  "+ p\n\n  q\n",
  "  - deep\n    more\n",
  "-\n",
  "- \n  x\n",
  "a\\*b\\_ \\[c]\n",
  "line\\\nbreak\n",
  "## H ##\n",
  "#nohead\n",
  "> a\nlazy b\n> c\n",
  "> > nested\n",
  "***bold it** x*\n",
  "a*b*c _d_e_ f_g\n",
  "~~x~~ ~y~ ~~~z\n",
  "| a |\n|--|\n| `x\\|y` | z |\n",
  "www.example.com. (https://a.b/c_d) x\n",
  "- [ ] todo **b**\n",
  "Foo\n- bar\n",
  "Foo\n1. bar\n",
  "Foo\n2. bar\n",
  "```js {a}\ncode\n",
  "   ```\n   ind\n   ```\n",
  "* * *\n",
  "_ _ _\n",
  "<div>\n*a*\n\n*b*\n",
  "[foo]: <a b> (t)\n",
  "a  \nb\n",
  "&copy; &#35; &bad;\n",
  "*a `b* c`\n",
  "[a *b](c) d*\n",
  "**a [b** c](d)\n",
];

function html(tokens: Token[]): string {
  const element = document.createElement("div");
  const drawn = tokens.filter(({ type }) => type !== "space").map((token) => drawToken(token));
  render(<ViewContext.Provider value={{ store: {} } as View}>{drawn}</ViewContext.Provider>, element);
  return element.innerHTML
    .replace(/ title="[^"]*"/g, "")
    .replace(/\s+/g, " ")
    .replace(/ (?=<\/?(?:p|br|ul|ol|li|div|h\d))|(?<=<(?:p|li|td)>) /g, "");
}

const marked = (text: string) => new Lexer({ gfm: true }).lex(text) as Theirs[] as unknown as Token[];
const theirs = (text: string) => html(marked(text));

/** The parts that `html` draws: all of a token except its source; only text and language of code. */
function drawnParts(tokens: Token[]): unknown[] {
  const drawn = tokens.filter(({ type }) => type !== "space");
  return drawn.map(({ raw: _, ...token }) =>
    token.type === "code" ? { text: token.text?.trimEnd(), lang: token.lang } : token,
  );
}

test.each(BLOCKS)("%j is parsed as marked parses it", (text) => {
  expect(html(lex(text))).toEqual(theirs(text));
});

const PAIRS = BLOCKS.flatMap((first) => BLOCKS.map((second) => [first, second] as const));

test("pairs of blocks and a whole answer are parsed as marked parses them", () => {
  const texts = PAIRS.map(([first, second]) => `${first}\nwords between\n\n${second}`);
  const drawn = (tokens: Token[]) => JSON.stringify(drawnParts(tokens));
  expect(texts.filter((text) => drawn(lex(text)) !== drawn(marked(text)))).toEqual([]);
  expect(html(lex(ANSWER))).toEqual(theirs(ANSWER));
});

test("the sources of all blocks add up to the text", () => {
  const texts = PAIRS.flatMap(([first, second]) => [
    first + second,
    `${first}\n\n${second}`,
    (first + second).trimEnd(),
  ]);
  const source = (tokens: Token[]) => tokens.map(({ raw }) => raw).join("");
  expect(texts.filter((text) => source(lex(text)) !== text)).toEqual([]);
});

test.each([
  [
    "> quoted\n===",
    "a line without a quote mark does not underline a heading",
    "<blockquote><p>quoted ===</p></blockquote>",
  ],
  ["- a\n\n\tb", "a tab counts as several spaces", "<ul><li><p>a</p><p>b</p></li></ul>"],
  [
    "<!-- a\n\nb -->\n*c*",
    "a comment continues over blank lines",
    '<p class="plain">&lt;!-- a b --&gt;</p><p><em>c</em></p>',
  ],
])("%j: %s", (text, _, expected) => {
  expect(html(lex(text))).toEqual(expected);
});
