/** The part of a cell that is text for an agent. */
import { EditorView } from "@codemirror/view";
import { expect, onTestFinished, test } from "vitest";
import { agentTextExtension, agentTexts } from "../../src/lab/agent-text";

function texts(doc: string): string[] {
  const state = new EditorView({ doc, extensions: [] } as never).state;
  return agentTexts(state, 0, doc.length).map(([from, to]) => doc.slice(from, to));
}

test.each([
  ["a = 1\n%agent Don't use for loops\nb = 2", ["%agent Don't use for loops"]],
  ["turn = %agent fix it if you can", ["%agent fix it if you can"]],
  ["  a, b = %agent what is this?", ["%agent what is this?"]],
  ["%agents list\n%agent", ["%agents list", "%agent"]],
  ["%%agent -t fits\nWhy is 'x'\n\nnot None?", ["%%agent -t fits", "Why is 'x'", "not None?"]],
  ["a = 1\n%%agent no cell", []],
  ["%agentic = 1\n# %agent is a comment\nx = y %agent", []],
  ["%%time\n%agent Hello", ["%agent Hello"]],
  ["", []],
])("finds the text for the agent in %j", (doc, expected) => {
  expect(texts(doc)).toEqual(expected);
});

test("an editor marks text for the agent as the user types", () => {
  const parent = document.body.appendChild(document.createElement("div"));
  const view = new EditorView({ parent, doc: "x = 1", extensions: [agentTextExtension as never] });
  onTestFinished(() => {
    view.destroy();
    parent.remove();
  });
  const marked = () => [...parent.querySelectorAll(".agentnb-agent-text")].map((one) => one.textContent);
  expect(marked()).toEqual([]);
  (view as unknown as { dispatch(change: object): void }).dispatch({ changes: { from: 5, insert: "\n%agent Hello" } });
  expect(marked()).toEqual(["%agent Hello"]);
});

test("a megabyte line and ten thousand lines are parsed quickly", () => {
  const start = process.cpuUsage();
  texts(`%agent ${"a".repeat(1_000_000)}`);
  texts("a, ".repeat(400_000));
  expect(texts("%agent Hello\n".repeat(10_000))).toHaveLength(10_000);
  expect(process.cpuUsage(start).user / 1000).toBeLessThan(20_000); // fails only if it hangs
});
