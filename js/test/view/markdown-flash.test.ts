import { describe, expect, test } from "vitest";
import { closeInline, complete } from "../../src/view/markdown/complete";
import { MarkdownPage } from "./markdown-page";

/** Everything that is shown while `text` grows letter by letter. */
function frames(text: string): { text: string; html: string }[] {
  const page = new MarkdownPage();
  const states = [];
  for (let at = 1; at <= text.length; at += 1) {
    page.draw(text.slice(0, at), true);
    states.push({ text: page.text, html: page.html });
  }
  return states;
}

describe("text streamed letter by letter", () => {
  const cases: [name: string, text: string, never: RegExp][] = [
    ["bold", "Now **What is** this", /\*/],
    ["bold with spaces after it", "Now **What is  the matter** here.", /\*/],
    ["bold and italics nested", "A ***both* of** them", /\*/],
    ["italics with underscores", "It is _so very_ nice", /_/],
    ["strikethrough", "It was ~~not so~~ good", /~/],
    ["inline code", "Call `np.exp(x)` or ``a ` b``.", /``|`np|`$/],
    ["a link", "See [the docs](https://example.org/path_(x)) for more", /\[|\]|\(http|example\.org/],
    ["a link with bold text", "See [**the** docs](https://example.org) now", /\[|\]|\*|example/],
    ["a picture", "Here ![a plot](plot.png) it is", /!\[|\]|plot\.png/],
    ["an autolink", "See <https://example.org/page> now", /<|>/],
    ["a heading", "# Title of **it**\n\n## Second\n", /[#*]/],
    ["a list", "- one **b**\n- two\n  - three `c`\n", /^-|\n-|- |\*|`/],
    ["a numbered list", "1. one\n2. two\n10. ten\n", /\d/],
    ["a task list", "- [x] done\n- [ ] to do\n", /\[|\]|- /],
    ["a quote", "> said **he**\n> twice\n", />|\*/],
    ["a rule", "above\n\n---\n\nbelow\n\n***\n\nend", /-|\*/],
    ["a table", "| a **x** | b |\n|:--|--:|\n| 1 | `2` |\n| 3 | 4 |\n", /\||--|\*|`/],
    ["a fence", "Look:\n\n```python\nx = 1\n```\n\nand\n\n~~~\ny\n~~~\n", /```|~~|pyth$/],
    ["a fence in a list", "- item\n\n  ```js\n  x\n  ```\n- next\n", /``/],
    ["an escaped mark", "5 \\* 3 \\{x\\}", /\\/],
    ["a character reference", "a &amp; b &#8594; c", /&a|&#|amp|#/],
  ];
  test.each(cases)("%s shows no raw marks", (_name, text, never) => {
    for (const [at, frame] of frames(text).entries()) {
      const visibleText = frame.text.replace(/^(python|js|text)/gm, "");
      expect(visibleText, `after ${JSON.stringify(text.slice(0, at + 1))}`).not.toMatch(never);
    }
  });

  test("shows a table from its first row on", () => {
    const page = new MarkdownPage();
    page.draw("Results:\n\n| name | val", true);
    expect([...page.element.querySelectorAll("th")].map((cell) => cell.textContent)).toEqual(["name", "val"]);
  });

  test("does not begin another table with a later row", () => {
    const page = new MarkdownPage();
    page.draw("| a | b |\n|---|---|\n| 1 | 2", true);
    expect(page.element.querySelectorAll("th").length).toEqual(2);
    expect(page.element.querySelectorAll("td").length).toEqual(2);
  });

  test("does not show a paragraph as a heading before a list", () => {
    expect(frames("Some words\n- one\n").some((frame) => frame.html.includes("<h2"))).toEqual(false);
  });

  test("never hides words that it has shown", () => {
    const text = "Say **hello** to [the world](https://example.org) with `code` and\n\n- a list\n- of *things*\n\nend";
    let longest = "";
    for (const frame of frames(text)) {
      const words = frame.text.replace(/\s+/g, "");
      expect(words.startsWith(longest.slice(0, -2)), `${longest} → ${words}`).toEqual(true);
      longest = words;
    }
  });
});

describe("incomplete Markdown closed for display", () => {
  test.each([
    ["**bold", "**bold**"],
    ["**bold and *it", "**bold and *it***"],
    ["`code", "`code`"],
    ["[text](http://x", "text"],
    ["[text", "text"],
    ["![alt](x", ""],
    ["2 * 3", "2 * 3"],
    ["snake_case", "snake_case"],
    ["a*b", "a*b"],
    ["[1] and [2](x) done", "[1] and [2](x) done"],
    ["**done** and more", "**done** and more"],
    ["~~gone", "~~gone~~"],
  ])("%s is drawn as %s", (half, whole) => {
    expect(closeInline(half)).toEqual(whole);
  });

  test("leaves text inside an open fence unchanged", () => {
    expect(complete("- x\n\n  ```\n  a **b [c")).toEqual("- x\n\n  ```\n  a **b [c");
  });
});
