/** A Mermaid diagram in an answer: code, with a button if the front end can draw it. */
import { expect, test } from "vitest";
import type { NotebookActions } from "../../src/view/store";
import { CHAT, readyStore, startTurn } from "./memory-store";
import { open, type Page } from "./page";

const PICTURE = "data:image/svg+xml,%3Csvg%2F%3E";
const sources: string[] = [];

function answered(markdown: string, drawDiagram?: NotebookActions["drawDiagram"]): Page {
  const store = readyStore();
  store.notebook = { ...(drawDiagram && { drawDiagram }) } as NotebookActions;
  startTurn(store, "t1", "Draw it");
  const part = { kind: "markdown", id: "p1", content: markdown } as const;
  store.apply(CHAT, { type: "chat/responsePart", turnId: "t1", part });
  store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1" });
  return open(store, { kind: "chat" });
}

const buttons = (page: Page) => page.all(".code button").filter((one) => one.textContent === "Draw");
const draw = async (source: string) => {
  sources.push(source);
  return PICTURE;
};

test("draws a diagram as an image when Draw is clicked", async () => {
  const page = answered("```mermaid\ngraph TD; A-->B\n```", draw);
  await page.until(() => expect(buttons(page)).toHaveLength(1));
  expect([sources, page.all(".code img")]).toEqual([[], []]);
  buttons(page)[0]?.click();
  await page.until(() => expect(page.find<HTMLImageElement>(".code img").src).toBe(PICTURE));
  expect(sources).toEqual(["graph TD; A-->B"]);
});

test("keeps the code and shows the error when drawing fails", async () => {
  const page = answered("```mermaid\ngraph\n```", () => Promise.reject(new Error("Parse error on line 1.")));
  await page.until(() => expect(buttons(page)).toHaveLength(1));
  buttons(page)[0]?.click();
  await page.until(() => expect(page.find(".code .error-text").textContent).toBe("Parse error on line 1."));
  expect([page.find(".code pre").textContent, page.all(".code img").length]).toEqual(["graph", 0]);
});

test("rejects a drawing that is not a data URL", async () => {
  const page = answered("```mermaid\ngraph\n```", () => Promise.resolve("https://example.org/x.svg"));
  await page.until(() => expect(buttons(page)).toHaveLength(1));
  buttons(page)[0]?.click();
  await page.until(() => expect(page.find(".code .error-text").textContent).toContain("example.org"));
  expect(page.all(".code img")).toHaveLength(0);
});

test.each([
  ["if nothing draws diagrams", "```mermaid\ngraph\n```", undefined],
  ["for other code", "```python\nx = 1\n```", draw],
  ["for a giant diagram", `\`\`\`mermaid\n${"A-->B\n".repeat(5_000)}\`\`\``, draw],
])("shows no Draw button %s", async (_where, markdown, drawDiagram) => {
  const page = answered(markdown, drawDiagram);
  await page.until(() => expect(page.all(".code").length).toBe(1));
  expect(buttons(page)).toHaveLength(0);
});
