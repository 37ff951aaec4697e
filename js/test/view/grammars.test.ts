/** Grammars of less frequent languages: fetched once, when code in one of them is shown. */
import { expect, test, vi } from "vitest";
import { MarkdownPage } from "./markdown-page";

const RUST = "```rust\nfn main() {}\n```";
const asked: string[] = [];
const module = async (name: string): Promise<{ default: unknown }> => {
  asked.push(name);
  return import("../../src/grammars.ts");
};
const show = (text: string) => new MarkdownPage({ module }).draw(text, false);
const keyword = (page: MarkdownPage) => page.element.querySelector(".hl-keyword")?.textContent;

test("code in a language that is not here is plain where nothing can be fetched", async () => {
  const page = new MarkdownPage().draw(RUST, false);
  expect([keyword(page), page.element.querySelector("code")?.textContent]).toEqual([undefined, "fn main() {}"]);
});

test("code in a frequent language needs no grammar to be fetched", () => {
  expect([keyword(show("```python\ndef f(): pass\n```")), asked]).toEqual(["def", []]);
});

test("code in another language is coloured once the grammars are here, which are fetched once", async () => {
  const pages = [show(RUST), show("```java\nclass A {}\n```")];
  await vi.waitFor(() => expect(pages.map(keyword)).toEqual(["fn", "class"]));
  expect([keyword(show("```js\nlet a;\n```")), keyword(show("```c\nint a;\n```"))]).toEqual(["let", undefined]);
  expect(asked).toEqual(["grammars"]);
});
