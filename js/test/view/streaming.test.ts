import { describe, expect, test } from "vitest";
import { MarkdownPage } from "./markdown-page";
import { CHAT, readyStore, startTurn } from "./memory-store";
import { open } from "./page";

function textNode(root: Node, words: string): Text {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (node.nodeValue?.includes(words)) return node as Text;
  throw new Error(`${words} is not there`);
}

function select(root: Node, words: string): Range {
  const node = textNode(root, words);
  const range = document.createRange();
  range.setStart(node, (node.nodeValue as string).indexOf(words));
  range.setEnd(node, (node.nodeValue as string).indexOf(words) + words.length);
  return range;
}

describe("selected text during streaming", () => {
  test.each([
    ["in the paragraph being written", "The noise gr", "noise", "The noise grows with **x** and"],
    ["when its last words change", "The noise [gr", "noise", "The noise [grows](https://example.org) with"],
    ["in a paragraph that is done", "The noise.\n\nAnd", "noise", "The noise.\n\nAnd so on.\n\n- a\n- b"],
    ["in open code", "```python\nx = 1\ny", "x = 1", "```python\nx = 1\ny = 2\n"],
    ["in a list item", "- one thing\n- an", "one thing", "- one thing\n- another\n- third"],
    ["in a table", "| a | b |\n|---|---|\n| one | tw", "one", "| a | b |\n|---|---|\n| one | two |\n| three | four |"],
  ])("stays selected %s", (_, first, words, then) => {
    const page = new MarkdownPage();
    document.body.append(page.element);
    page.draw(first, true);
    const range = select(page.element, words);
    for (let at = first.length; at <= then.length; at += 3) page.draw(then.slice(0, at), true);
    page.draw(then, true);
    expect(range.toString()).toEqual(words);
    page.element.remove();
  });

  test("stays selected when the turn ends", () => {
    const page = new MarkdownPage();
    document.body.append(page.element);
    page.draw("The **noise** grows wi", true);
    const range = select(page.element, "grows");
    page.draw("The **noise** grows with x.", true);
    page.draw("The **noise** grows with x.", false);
    expect(range.toString()).toEqual("grows");
    page.element.remove();
  });
});

test("a part that the user folded or opened stays so during streaming", async () => {
  const store = readyStore();
  startTurn(store, "t", "x");
  store.apply(CHAT, {
    type: "chat/responsePart",
    turnId: "t",
    part: { kind: "reasoning", id: "r", content: "I think" },
  });
  const page = open(store, { kind: "chat" });
  const fold = () => page.find(".reasoning").dataset.open;
  expect(fold()).toEqual("true");
  page.find(".reasoning .fold-head").click();
  await page.until(() => expect(fold()).toEqual("false"));
  store.apply(CHAT, { type: "chat/reasoning", turnId: "t", partId: "r", content: " and think" });
  store.apply(CHAT, { type: "chat/responsePart", turnId: "t", part: { kind: "reasoning", id: "r2", content: "More" } });
  await page.until(() => expect(page.all(".reasoning").length).toEqual(2));
  expect(fold()).toEqual("false");
  page.all(".reasoning .fold-head")[1]?.click();
  await page.until(() => expect(page.all(".reasoning")[1]?.dataset.open).toEqual("false"));
  page.all(".reasoning .fold-head")[1]?.click();
  store.apply(CHAT, { type: "chat/turnComplete", turnId: "t" });
  await page.until(() => expect(page.all(".working")).toEqual([]));
  expect(page.all(".reasoning").map((one) => one.dataset.open)).toEqual(["false", "true"]);
});
