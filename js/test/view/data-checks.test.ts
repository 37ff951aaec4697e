/** Data checks below a turn: a line for each table, the first two visible, and the actions for each. */
import { expect, test } from "vitest";
import type { DataCheck, TurnChanges } from "../../src/state/types.gen";
import { byTable, lineOf } from "../../src/view/data-check-lines";
import type { NotebookActions } from "../../src/view/store";
import { CHAT, readyStore, startTurn } from "./memory-store";
import { open, type Page } from "./page";

const check = (table: string, more: Partial<DataCheck> = {}): DataCheck => ({
  table,
  cause: "type",
  text: "`day` became text",
  question: `Look at @${table}.`,
  ...more,
});

function show(checks: readonly DataCheck[], notebook?: Partial<NotebookActions>): Page {
  const store = readyStore();
  startTurn(store, "t1", "Join");
  store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1" });
  const changes: TurnChanges = { status: "ready", variables: checks.length, undoable: 1, dataChecks: checks };
  store.apply(CHAT, { type: "x-agentnb/turnChanges", turnId: "t1", changes });
  if (notebook) store.notebook = notebook as NotebookActions;
  return open(store, { kind: "chat" });
}

const lines = (page: Page) => page.all(".data-check-line").map((one) => one.textContent);

test("shows one line per table: two first, the others after a click", async () => {
  const checks = [check("a"), check("a", { text: "2 new nulls in `b`" }), check("b"), check("c")];
  const page = show(checks);
  await page.until(() => expect(lines(page)).toEqual(["a: day became text, and 1 more", "b: day became text"]));
  page.button("1 more table").click();
  await page.until(() => expect(lines(page)).toHaveLength(3));
});

test("a line shows row counts only when they have changed", () => {
  const grown = check("orders", { rowsBefore: 10_412, rowsAfter: 31_980, text: "`id` is not unique in `customers`" });
  expect(lineOf([grown])).toBe("`orders` rows 10,412 → 31,980: `id` is not unique in `customers`");
  expect(lineOf([check("t", { rowsBefore: 5, rowsAfter: 5 })])).toBe("`t`: `day` became text");
  expect(byTable([])).toEqual([]);
});

test("shows markup and hidden characters in table names as text", async () => {
  const page = show([check("<b>x</b>\u202e")]);
  await page.until(() => expect(lines(page)[0]).toContain("<b>x</b>"));
  expect(page.all(".data-checks b")).toHaveLength(0);
});

test("offers only the Ask the agent button without a notebook", async () => {
  const page = show([check("t", { show: "t", assertion: "assert t" })]);
  await page.until(() => expect(lines(page)).toHaveLength(1));
  page.find<HTMLElement>(".data-checks .fold-head")?.click();
  await page.until(() =>
    expect(page.all(".data-checks li button").map((one) => one.textContent)).toEqual(["Ask the agent"]),
  );
});
