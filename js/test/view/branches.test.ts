/** Tries side by side: their texts stay text, the user chooses parts, and a card shows its conflicts. */
import { expect, test } from "vitest";
import { readUnified } from "../../src/view/branches/changes";
import type { Try } from "../../src/view/branches/requests";
import type { NotebookActions } from "../../src/view/store";
import { readyStore } from "./memory-store";
import { open } from "./page";

const ONE: Try = {
  number: 1,
  agent: "tour",
  state: "done",
  way: "fork",
  session: "tour:/1",
  says: "first\nI <b>improved</b> it.\u202e",
  measure: 0.914,
  error: "",
  verified: true,
  findings: "",
  files: [{ path: "a/<i>.py", status: "modified", diff: "--- a\n+++ b\n@@ -1,2 +1,2 @@\n x\n-old\n+new\n" }],
  cells: [{ id: "c1", action: "insert", kind: "code", before: "", after: "score = 1" }],
  variables: { score: "added" },
  checks: ["`df` rows 3 → 2: 1 row is gone"],
  pictures: 1,
  tokens: 1200,
  seconds: 3.2,
  kept: "",
};

function show(
  tries: readonly Partial<Try>[],
  keep: () => Promise<unknown> = async () => ({}),
  notebook?: NotebookActions,
) {
  const store = readyStore();
  if (notebook) store.notebook = notebook;
  const set = { id: "s1", prompt: "Improve", note: "", best: 1, tries: tries.map((one) => ({ ...ONE, ...one })) };
  store.answer = async (method) => {
    if (method === "branches/look") return { sets: [set] };
    if (method === "branches/pictures") return { pictures: ["iVBORw0KGgo=", "javascript:alert(1)"] };
    return method === "branches/keep" ? keep() : {};
  };
  const page = open(store, { kind: "branches", id: "s1" });
  return { store, page };
}

test("shows each try's answer, measure, checks and changes as plain text", async () => {
  const { page } = show([{}, { number: 2, state: "failed", error: "It <b>ended</b>." }]);
  await page.until(() => expect(page.all("article").map((one) => one.ariaLabel)).toEqual(["Try 1", "Try 2"]));
  await page.until(() => expect(page.all("img")).toHaveLength(2)); // the other one is not a picture
  expect(page.text()).toContain("first\nI <b>improved</b> it.⟨U+202E⟩");
  expect(page.text()).toContain("It <b>ended</b>.");
  expect(page.all("article b, article i")).toHaveLength(0);
  expect(page.find(".try-measure").textContent).toBe("0.914");
  expect(page.find(".try-checks").textContent).toContain("df rows 3 → 2");
  expect(page.all(".chip").map((one) => one.textContent)).toEqual(["Best"]);
  for (const one of page.all(".try-changes .fold-head")) one.click();
  await page.until(() => expect(page.text()).toContain("new"));
});

test("shows why Keep failed when the user has changed a file", async () => {
  const { page, store } = show([{}], () => Promise.reject(new Error("Changed since the branch began: a.py.")));
  await page.until(() => page.button("Keep Try 1"));
  page.button("Keep Try 1").click();
  await page.until(() => expect(page.find("article [role=alert]").textContent).toContain("Changed since"));
  expect(store.requested.at(-1)).toEqual({ method: "branches/keep", params: { id: "s1", number: 1, only: undefined } });
});

test("keeps only the selected parts of a try", async () => {
  const { page, store } = show([{}]);
  await page.until(() => page.button("More for Try 1"));
  page.button("More for Try 1").click();
  await page.until(() => page.button("Keep parts…"));
  page.button("Keep parts…").click();
  await page.until(() => expect(page.all("article input").map((one) => one.ariaLabel)).toHaveLength(3));
  expect(page.button("Keep parts").disabled).toBe(true);
  page.all("article input")[2]?.click();
  await page.until(() => page.button("Keep 1 part"));
  page.button("Keep 1 part").click();
  await page.until(() => expect(store.requested.at(-1)?.params).toEqual({ id: "s1", number: 1, only: ["score"] }));
});

test("hides discarded tries and links kept ones to their changes", async () => {
  const conversations: string[] = [];
  const notebook = {
    showConversation: (resource: string) => conversations.push(resource),
  } as unknown as NotebookActions;
  const { page } = show(
    [
      { state: "kept", kept: "branches:/k" },
      { number: 2, state: "discarded" },
    ],
    undefined,
    notebook,
  );
  await page.until(() => expect(page.all("button").map((one) => one.textContent)).toEqual(["Changes and Undo"]));
  page.button("Changes and Undo").click();
  expect(conversations).toEqual(["branches:/k"]);
});

test("reads unified diffs and returns undefined for an empty one", () => {
  expect(readUnified("")).toBeUndefined();
  expect(readUnified("--- a\n+++ b\n@@ -3 +3,2 @@\n-x\n+y\n+@@\n")).toEqual({
    hunks: [{ oldStart: 3, newStart: 3, lines: ["-x", "+y", "+@@"] }],
    added: 2,
    removed: 1,
    lines: 3,
  });
});
