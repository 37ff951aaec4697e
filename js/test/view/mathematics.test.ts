/** Formulas in Markdown: which texts are formulas, what they become, and what they can never become. */
import { describe, expect, test } from "vitest";
import cases from "../../../tests/cases/mathematics/texts.json" with { type: "json" };
import { formula } from "../../src/math";
import { eventually } from "../eventually";
import { MarkdownPage } from "./markdown-page";
import { fetchModule } from "./modules";

const modules: string[] = [];
const module = async (name: string): Promise<{ default: unknown }> => {
  modules.push(name);
  return fetchModule(name);
};
const page = () => new MarkdownPage({ module });
const maths = (one: MarkdownPage) => [...one.element.querySelectorAll("math")];

/** The texts of the drawn formulas; `display:` before those on their own lines. */
async function formulas(text: string): Promise<string[]> {
  await ready();
  return maths(page().draw(text, false)).map(
    (math) => (math.parentElement?.classList.contains("display") ? "display:" : "") + math.textContent,
  );
}

async function ready(): Promise<void> {
  const one = page().draw("$x$", false);
  await eventually(() => expect(maths(one).length).toEqual(1));
}

test("shows formulas as source until the module is fetched, once", async () => {
  page().draw("No formula, for $5.", false);
  expect(modules).toEqual([]);
  const pages = [page().draw("Of $x^2$.", false), page().draw("$$y$$", false)];
  expect(pages.map((one) => one.text)).toEqual(["Of $x^2$.", "$$y$$"]);
  await eventually(() => expect(pages.map((one) => maths(one).length)).toEqual([1, 1]));
  expect(pages.map((one) => one.text)).toEqual(["Of x2.", "y"]);
  expect(modules).toEqual(["math"]);
});

describe("formula detection", () => {
  test.each(cases.formulas)("$text", async ({ text, formulas: expected }) => {
    const drawn = expected.map(
      ({ source, display }) => (display ? "display:" : "") + formula(source, display).textContent,
    );
    expect(await formulas(text)).toEqual(drawn);
  });

  test("draws minus and asterisk as mathematical signs", async () => {
    expect(await formulas("$$\na\n- b\n$$ and $a*b$, 10$^{-3}$, $\\$5$")).toEqual(["display:a−b", "a∗b", "−3", "$5"]);
  });

  test.each([...cases.none, `$${"x".repeat(6000)}$`])("finds no formula in %j", async (text) => {
    expect(await formulas(text)).toEqual([]);
  });
});

describe("a streamed formula", () => {
  const TEXT = [
    "For $5 and $10 we have $x^2 + y_1$, **bold $z$** and \\(a \\cdot b\\).",
    "So\n$$\n\\begin{aligned}\na &= b \\\\\n- c &= d\n\\end{aligned}\n$$\nand \\[ \\frac{1}{2} \\] is it.",
    "1. one $k$\n2. two $$m$$ three\n\n| a | b |\n|---|---|\n| $p$ | $q$ |",
    "```python\nprice = '$5$'\n```",
    "$$\nnever\n- closed\n\nThe end: $e$",
  ].join("\n\n");

  test("is drawn as in the whole text, in pieces of any size", async () => {
    await ready();
    const whole = page().draw(TEXT, false).html;
    for (let seed = 1; seed <= 12; seed += 1) {
      const one = page();
      for (let at = 0, state = seed; at < TEXT.length; ) {
        state = (state * 48271) % 2147483647;
        at += 1 + (state % 60);
        one.draw(TEXT.slice(0, at), at < TEXT.length);
      }
      expect(one.draw(TEXT, false).html).toEqual(whole);
    }
  });

  test("is drawn once it is closed, and keeps its node", async () => {
    await ready();
    const one = page();
    let known: Element[] = [];
    for (let at = 1; at <= TEXT.length; at += 1) {
      one.draw(TEXT.slice(0, at), true);
      const now = maths(one);
      expect(now.slice(0, known.length), JSON.stringify(TEXT.slice(0, at))).toEqual(known);
      for (const [index, math] of known.entries()) expect(now[index]).toBe(math);
      known = now;
    }
    expect(known.length).toEqual(10);
  });

  test.each(["$$\n\\frac{a}{b}", "so\n$$\na_1 *b* _c_\n- d", "\\[ a_1 *b* &amp; [x](y)", "**so \\(a*b", "Of \\(x_1"])(
    "is shown as source while it is open: %j",
    async (text) => {
      await ready();
      const one = page().draw(text, true);
      const source = text.slice(Math.max(text.indexOf("$$"), text.search(/\\[([]/)));
      expect(one.text.endsWith(source), one.text).toEqual(true);
      expect(maths(one)).toEqual([]);
    },
  );

  test("is never drawn for an amount of money", async () => {
    await ready();
    const one = page();
    const text = "From $5-$10 to $1,000/$2,000, or $5–$6 here.";
    for (let at = 1; at <= text.length; at += 1) expect(maths(one.draw(text.slice(0, at), true))).toEqual([]);
  });
});

describe("a hostile formula", () => {
  const ALLOWED = /^(?:math|m[a-z]+|none)$/;
  const HOSTILE = [
    "\\href{javascript:alert(1)}{x}",
    "\\url{https://example.org}",
    "\\includegraphics{https://example.org/a.png}",
    "\\htmlClass{tab}{x}",
    "\\class{tab}{x}",
    "\\htmlId{a}{x}",
    "\\id{a}{x}",
    "\\htmlStyle{position:fixed}{x}",
    "\\style{position:fixed}{x}",
    "\\htmlData{a=b}{x}",
    "\\data{a=b}{x}",
    "\\text{<img src=x onerror=alert(1)>}",
    "<script>alert(1)</script>",
    "\\unicode{x202e}",
    '\\char"202E x',
    "\\char`\u202e",
    "\u202e\u2066x\u2069",
    "\\text{\u202eabc\u200b}",
    "\\def\\a{\\a\\a}\\a",
    "\\def\\a#1{\\a{#1#1}}\\a{x}",
    "\\newcommand{\\a}{\\a}\\a",
    "\\let\\a=\\frac \\a{1}{2}",
    "\\gdef\\frac{x}",
    "\\edef\\a{\\a}",
    "\\color{url(https://example.org)}x",
    "\\textcolor{red;background:url(//a.b)}{x}",
    "\\colorbox{expression(alert(1))}{x}",
    "\\definecolor{a}{HTML}{url(x)}\\color{a}x",
    "\\kern-9999em x",
    "\\hspace{-9999px}x",
    "\\rule{99999em}{99999em}",
    "\\raisebox{9999em}{x}",
    "\\tag{<b>}x",
    "\\label{x}\\ref{x}",
    "\\begin{CD} A @>{\\href{x}{y}}>> B \\end{CD}",
    "\\math\\@firstoftwo",
    "\\csname href\\endcsname{javascript:x}{y}",
    "\\constructor \\__proto__ \\toString",
    "\\ce{\\href{javascript:x}{y}}",
    "\\bra{\\href{x}{y}}",
  ];

  function check(math: Element): void {
    for (const element of [math, ...math.querySelectorAll("*")]) {
      expect(element.namespaceURI).toEqual("http://www.w3.org/1998/Math/MathML");
      expect(element.localName).toMatch(ALLOWED);
      for (const { name, value } of element.attributes) {
        expect(name).not.toMatch(/^on|href|src|^id$|^data|xlink|actiontype/i);
        expect(value).not.toMatch(/url|javascript|position|expression|[<>"'\\;]{2}/i);
        for (const [, length] of value.matchAll(/(-?\d+(?:\.\d+)?)em/g))
          expect(Math.abs(Number(length))).toBeLessThanOrEqual(40);
      }
    }
    expect(math.textContent).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b-\u200f]/);
  }

  test.each(HOSTILE)("contains only allowed MathML: %j", (source) => {
    for (const isDisplay of [false, true]) {
      let math: Element | undefined;
      try {
        math = formula(source, isDisplay);
      } catch (error) {
        expect((error as Error).message).toMatch(/^[^\n]*[^.\s]\.$/);
      }
      if (math) check(math);
    }
  });

  test("contains only allowed MathML when pieces are combined at random", () => {
    const pieces = [
      ...HOSTILE,
      "{",
      "}",
      "^",
      "_",
      "&",
      "\\\\",
      "\\left(",
      "\\right)",
      "\\begin{matrix}",
      "\\end{matrix}",
    ];
    pieces.push(
      "\\text{",
      "\\frac",
      "\\sqrt[",
      "]",
      "x",
      "1",
      "\\color{red}",
      "\\verb|a|",
      "%",
      "#1",
      "~",
      "'",
      "\\limits",
    );
    let drawn = 0;
    for (let seed = 1; seed <= 400; seed += 1) {
      let state = seed;
      const next = () => {
        state = (state * 48271) % 2147483647;
        return state % pieces.length;
      };
      next();
      const source = Array.from({ length: 1 + (next() % 6) }, () => pieces[next()]).join("");
      try {
        check(formula(source, seed % 2 === 0));
        drawn += 1;
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        expect((error as Error).name).toEqual("Error");
      }
    }
    expect(drawn).toBeGreaterThan(20);
  });

  test.each([
    ["braces in braces", "{".repeat(4000) + "}".repeat(4000)],
    ["roots in roots", `${"\\sqrt{".repeat(800)}x${"}".repeat(800)}`],
    ["powers of powers", `x${"^{x".repeat(1200)}${"}".repeat(1200)}`],
    ["brackets in brackets", `${"\\left(".repeat(700)}x${"\\right)".repeat(700)}`],
    ["a giant sum", `${"x+".repeat(4500)}x`],
    ["a giant matrix", `\\begin{matrix}${"x&".repeat(4000)}x\\end{matrix}`],
    ["built-in macros", "\\dots\\implies".repeat(600)],
  ])("is drawn or refused without hanging: %s", (_name, source) => {
    const start = process.cpuUsage();
    let message = "";
    try {
      check(formula(source, true));
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toMatch(/^(?:|It is nested too deeply\.|It is too large\.|Too many expansions.*)$/);
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(20_000); // fails only if it hangs
  });

  test("stays text without hanging when it is a megabyte of macros", async () => {
    await ready();
    const start = process.cpuUsage();
    const one = page().draw(`$$${"\\dots\\implies".repeat(80_000)}$$`, false);
    expect([one.element.querySelectorAll("math").length, one.element.textContent?.slice(0, 7)]).toEqual([
      0,
      "$$\\dots",
    ]);
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(20_000); // fails only if it hangs
  });

  test("shows its source and the reason when it cannot be drawn", async () => {
    await ready();
    const one = page().draw("See $\\frac{1}$ and $\\nosuch{x}$.", false);
    const formulas = [...one.element.querySelectorAll<HTMLElement>(".math")].map((span) => [
      span.textContent,
      span.title,
    ]);
    expect(formulas).toEqual([
      ["$\\frac{1}$", "This formula can't be drawn. Unexpected end of input in a macro argument, expected '}'."],
      ["$\\nosuch{x}$", "This formula can't be drawn. Unsupported function name: \\nosuch."],
    ]);
  });
});
