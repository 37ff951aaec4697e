/** The module that colours code: fetched once, when code is first shown. */
import { expect, test } from "vitest";
import { eventually } from "../eventually";
import { MarkdownPage } from "./markdown-page";
import { fetchModule } from "./modules";

const PYTHON = "```python\ndef f(): pass\n```";
const modules: string[] = [];
const module = async (name: string): Promise<{ default: unknown }> => {
  modules.push(name);
  if (modules.length === 1) throw new Error("the kernel is busy");
  return fetchModule(name);
};
const show = (text: string) => new MarkdownPage({ module }).draw(text, false);
const keyword = (page: MarkdownPage) => page.element.querySelector(".hl-keyword")?.textContent;

test("shows code without colours when no module can be fetched", () => {
  const page = new MarkdownPage().draw(PYTHON, false);
  expect([keyword(page), page.element.querySelector("code")?.textContent]).toEqual([undefined, "def f(): pass"]);
});

test("fetches no module for code without a language", () => {
  show("```\ndef f(): pass\n```");
  expect(modules).toEqual([]);
});

test("colours code once the module is fetched, and retries a failed fetch", async () => {
  const first = show(PYTHON);
  await eventually(() => expect(modules).toEqual(["highlighting"]));
  const pages = [first];
  await eventually(() => {
    pages.push(show("```java\nclass A {}\n```"));
    expect(modules).toEqual(["highlighting", "highlighting"]);
  });
  await eventually(() => expect(pages.slice(0, 2).map(keyword)).toEqual(["def", "class"]));
  expect([keyword(show("```js\nlet a;\n```")), keyword(show("```c\nint a;\n```"))]).toEqual(["let", undefined]);
  expect(modules).toEqual(["highlighting", "highlighting"]);
});

test("an open fence grows in one text node, and gets colours when it closes", () => {
  const page = new MarkdownPage({ module });
  page.draw("```python\nimport", true);
  const node = page.element.querySelector("code")?.firstChild;
  page.draw("```python\nimport numpy\nprint(1)\n", true);
  expect(page.element.querySelector("code")?.firstChild).toBe(node);
  expect(node?.textContent).toEqual("import numpy\nprint(1)");
  expect(keyword(page)).toEqual(undefined);
  page.draw("```python\nimport numpy\nprint(1)\n```\n", true);
  expect(keyword(page)).toEqual("import");
});
