// @vitest-environment node
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { kernelSentences } from "../src/lab/kernel-sentences";
import { nodes, plural, text } from "../src/translation";
import { type Found, translated } from "../translate.mjs";

/** Returns the messages of a source and the code that is built from it. */
async function built(source: string): Promise<Found> {
  const path = join(await mkdtemp(join(tmpdir(), "translation-")), "one.tsx");
  await writeFile(path, source);
  return translated(path);
}

const ids = async (source: string) =>
  (await built(source)).messages.map(({ id, plural }) => (plural ? [id, plural] : id));

describe("a translatable message", () => {
  test.each([
    ['<p class="row wraps">No matches.</p>', ["No matches."]],
    ['<a aria-label="Go there" href="https://a b" role="x y" />', ["Go there"]],
    ["<p>Run <code>{x}</code> in a cell.</p>", ["Run {0} in a cell."]],
    [`f(\`\${n} earlier \${n === 1 ? "turn" : "turns"}\`)`, [["{0} earlier turn", "{0} earlier turns"]]],
    [`f(n === 1 ? "The cell" : \`\${n} cells\`)`, [["The cell", "{0} cells"]]],
    [
      'root.querySelector("Save as file"); f({ class: "Save as" }); element("div", "Row Wraps x", "Save as file")',
      ["Save as file"],
    ],
    ['f("ArrowUp", "menu-item", "a.b(c)", state === "needs you" ? 1 : "x")', []],
    ["<p>{agent.text}</p>", []],
  ])("is extracted from %s", async (source, expected) => expect(await ids(source)).toEqual(expected));

  test("in English is the source text with its values filled in", () => {
    expect(text("Show {0} of {1}", 3, "{0}")).toBe("Show 3 of {0}");
    expect([1, 2].map((n) => plural(n, "{0} turn", "{0} turns", n))).toEqual(["1 turn", "2 turns"]);
    expect(nodes("Run {0} in a cell.", 7)).toEqual(["Run ", 7, " in a cell."]);
  });
});

describe("translating a kernel message", () => {
  const known = new Map([
    ["There is no agent {0} in {1}.", "En {1} ne estas {0}."],
    ["Reload the page.", "Reŝargu la paĝon."],
  ]);
  const say = kernelSentences([...known.keys()], (id) => known.get(id) ?? id);
  test.each([
    ["There is no agent 'x.y' in a folder. Reload the page.", "En a folder ne estas 'x.y'. Reŝargu la paĝon."],
    ["Something else. Reload the page.", "Something else. Reŝargu la paĝon."],
    ["There is no agent", "There is no agent"],
  ])("%s", (sentence, expected) => expect(say(sentence)).toBe(expected));
});
