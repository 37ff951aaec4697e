/** A walkthrough: the agent explains in steps; the reader goes through them and sees each place. */
import { describe, expect, test } from "vitest";
import type { NotebookActions } from "../../src/view/store";
import { CHAT, readyStore, startTurn } from "./memory-store";
import { fetchModule } from "./modules";
import { open, press } from "./page";

const STEPS = [
  { text: "It reads the data.", cell: "c1", place: "fit.ipynb, cell [1]" },
  { text: "It fits.", file: "model.py", line: 2, place: "model.py:2" },
  { text: "That is all." },
];

function show(walkthrough: unknown) {
  const store = readyStore();
  Object.assign(store, { module: fetchModule });
  const places: string[] = [];
  store.notebook = {
    showCell: (id) => void places.push(id),
    openFile: (path, _, line) => void places.push(`${path}:${line}`),
  } as Partial<NotebookActions> as NotebookActions;
  startTurn(store, "t1", "Walk me through it");
  const at = { turnId: "t1", toolCallId: "c" };
  store.apply(CHAT, { type: "chat/toolCallStart", ...at, toolName: "other", displayName: "show_walkthrough" });
  const _meta = { agentnb: { walkthrough } };
  store.apply(CHAT, { type: "x-agentnb/toolCallDetailsChanged", ...at, details: {}, _meta });
  return { page: open(store, { kind: "chat" }), places };
}

describe("a walkthrough", () => {
  test("moves through its steps by button or arrow key, and shows places", async () => {
    const { page, places } = show({ title: "How it fits", steps: STEPS });
    await page.until(() => expect(page.all(".walkthrough").length).toBe(1));
    const step = () => page.find(".walkthrough p").textContent;
    const stepText = () => page.find(".walkthrough [role=status]").textContent;
    expect([step(), stepText(), places]).toEqual(["Step 1 of 3", "It reads the data.", []]);
    page.button("Show fit.ipynb, cell [1]").click();
    page.button("Back").click();
    page.button("Next").click();
    expect([step(), stepText()]).toEqual(["Step 2 of 3", "It fits."]);
    press(page.find(".walkthrough"), "ArrowRight");
    press(page.find(".walkthrough"), "ArrowRight");
    expect([step(), stepText()]).toEqual(["Step 3 of 3", "That is all."]);
    expect(page.button("Next").getAttribute("aria-disabled")).toBe("true");
    press(page.find(".walkthrough"), "ArrowLeft");
    expect(places).toEqual(["c1", "model.py:2", "model.py:2"]);
  });

  test.each([7, null, { steps: 7 }, { steps: [] }, { steps: [7, null] }])(
    "is not shown for invalid data: %j",
    async (walkthrough) => {
      const { page } = show(walkthrough);
      await page.until(() => expect(page.all(".tool").length).toBe(1));
      expect(page.all(".walkthrough").length).toBe(0);
    },
  );
});
