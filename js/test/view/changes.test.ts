/** The changes of a turn: the line below it, the list, its actions, conflicts, and the conversation's panel. */
import { describe, expect, test } from "vitest";
import type { ChangesetFile, TurnChanges } from "../../src/state/types.gen";
import { changesOf, tallyOfAll } from "../../src/view/change-set";
import type { Review, Standing } from "../../src/view/store";
import { CHAT, type MemoryStore, readyStore, SESSION, startTurn } from "./memory-store";
import { fetchModule } from "./modules";
import { open, type Page, press } from "./page";

const SET = `${SESSION}/changes/t1`;
const ALL = `${SESSION}/changes`;
const READY: TurnChanges = {
  status: "ready",
  files: 3,
  added: 41,
  removed: 7,
  cells: 2,
  variables: 1,
  undone: 0,
  kept: 0,
  undoable: 5,
};

type Meta = Record<string, unknown>;

function change(id: string, meta: Meta = {}, lines?: [number, number]): ChangesetFile {
  const { status = "changed" } = meta;
  const [kind, name] = [id.slice(0, id.indexOf(":")), id.slice(id.indexOf(":") + 1)];
  const side = (blob: string) => ({ uri: `file:///w/${name}`, content: { uri: `agentnb-blob:/${blob}` } });
  const edit = {
    ...(status === "added" ? {} : { before: side(`${id}1`) }),
    ...(status === "deleted" ? {} : { after: side(`${id}2`) }),
    ...(lines ? { diff: { added: lines[0], removed: lines[1] } } : {}),
  };
  const agentnb = { kind, name, status, state: "open", by: ["during"], undoable: true, ...meta };
  return { id, edit, _meta: { agentnb } } as unknown as ChangesetFile;
}

/** A chat with one finished turn, whose change set has these files. */
function ended(changes?: TurnChanges, ...files: ChangesetFile[]): MemoryStore {
  const store = readyStore();
  startTurn(store, "t1", "Fit it");
  store.apply(CHAT, { type: "chat/turnComplete", turnId: "t1" });
  if (changes) tell(store, changes);
  store.changeset(SET).value = { status: "ready", files };
  return store;
}

function tell(store: MemoryStore, changes: TurnChanges, turnId = "t1"): void {
  store.apply(CHAT, { type: "x-agentnb/turnChanges", turnId, changes });
}

const show = (store: MemoryStore) => open(store, { kind: "chat" });
const announced = (page: Page) => page.all(".sr-only[role=status]").at(-1)?.textContent;
const actions = (page: Page) => page.all(".change-line .change-action").map((one) => one.textContent);
const operations = (store: MemoryStore) =>
  store.requested.filter(({ method }) => method === "invokeChangesetOperation").map(({ params }) => params);
const texts = (sides: Record<string, string>) => (method: string, params: unknown) => {
  const { id, side } = params as { id: string; side: string };
  const text = sides[`${id} ${side}`] ?? "";
  return Promise.resolve(method === "readChange" ? { text, size: text.length, isCut: false, isBinary: false } : {});
};

describe("the line below a turn", () => {
  test.each<[Partial<TurnChanges>, string | undefined]>([
    [{}, "3 files 41 lines added, 7 removed+41\u2009−7 · 2 cells · 1 variable"],
    [
      { files: 1, cells: 1, variables: 1234, added: 1200, removed: 0 },
      "1 file 1,200 lines added, 0 removed+1,200\u2009−0 · 1 cell · 1,234 variables",
    ],
    [{ files: 1, cells: 0, variables: 0, added: 0, removed: 0 }, "1 file"],
    [{ files: 0, cells: 0, variables: 2, added: 0, removed: 0 }, "2 variables"],
    [{ files: 0, cells: 0, variables: 0 }, undefined],
  ])("counts the changes in %j", (more, expected) => {
    const page = show(ended({ ...READY, ...more }));
    expect(page.all(".change-counts").map((one) => one.textContent)).toEqual(expected === undefined ? [] : [expected]);
    expect(page.all(".change-set").map((one) => one.getAttribute("aria-label"))).toEqual(expected ? ["Changes"] : []);
  });

  test.each<[Partial<TurnChanges>, string, string[]]>([
    [{}, "", ["Review", "Undo"]],
    [{ undone: 6, undoable: 0 }, "undone", ["Review", "Redo"]],
    [{ undone: 5, undoable: 0 }, "5 undone", ["Review", "Redo"]],
    [{ undone: 1, undoable: 4 }, "1 undone", ["Review", "Undo"]],
    [{ kept: 6, undoable: 0 }, "kept", ["Review"]],
    [{ kept: 2, undone: 4, undoable: 0 }, "2 kept, 4 undone", ["Review", "Redo"]],
    [{ undoable: 0 }, "", ["Review"]],
  ])("shows the state and the matching buttons for %j", (more, standing, expected) => {
    const page = show(ended({ ...READY, ...more }));
    expect([page.find(".change-line > .dim").textContent, actions(page)]).toEqual([standing, expected]);
  });

  test("looks the same live, after a reload and below a cell", async () => {
    const live = readyStore();
    const pages = [show(live), open(live, { kind: "turn", channel: CHAT, turnId: "t1" })];
    startTurn(live, "t1", "Fit it");
    live.apply(CHAT, { type: "chat/turnComplete", turnId: "t1" });
    tell(live, { status: "computing" });
    tell(live, READY);
    const restored = ended(READY);
    const again = [show(restored), open(restored, { kind: "turn", channel: CHAT, turnId: "t1" })];
    const html = (page: Page) => page.find(".change-set").outerHTML.replace(/(aria-controls|id)="[^"]*"/g, "");
    for (const [at, page] of pages.entries()) {
      await page.until(() => expect(actions(page)).toEqual(["Review", "Undo"]));
      expect(html(page)).toEqual(html(again[at] as Page));
    }
  });

  test("shows Comparing… only after a delay", async () => {
    const store = ended({ status: "computing" });
    const quick = show(store);
    expect(quick.all(".turn .note")).toEqual([]);
    await quick.until(() => expect(quick.find(".turn .note").textContent).toBe("Comparing…"));
    tell(store, READY);
    await quick.until(() => expect(quick.all(".turn .note")).toEqual([]));
  });

  test("shows one sentence when the changes are unknown", () => {
    const error = { errorType: "ChangesUnavailable", message: "The folder is gone.\nReally" };
    const page = show(ended({ status: "error", error }));
    expect(page.find(".turn .note").textContent).toBe(
      "What this turn changed is not known: The folder is gone. Really",
    );
    expect(page.all(".change-set")).toEqual([]);
  });

  test("shows its notes when Review is open", async () => {
    const page = show(ended({ ...READY, notes: ["big.h5 is larger than 20 MB.", "rows was changed in place."] }));
    expect(page.all(".change-notes")).toEqual([]);
    page.button("Review").click();
    await page.until(() => expect(page.all(".change-notes")).toHaveLength(1));
    expect(page.all(".change-notes li").map((note) => note.textContent)).toEqual([
      "big.h5 is larger than 20 MB.",
      "rows was changed in place.",
    ]);
  });

  test("undoes all changes, announces it and moves the focus to Redo", async () => {
    const store = ended(READY);
    const sentence = "3 files and 2 cells were undone. b stays as it is, since you saved it meanwhile.";
    store.answer = () => Promise.resolve({ message: sentence });
    const page = show(store);
    page.button("Undo").focus();
    page.button("Undo").click();
    expect(operations(store)).toEqual([{ channel: SET, operationId: "undo" }]);
    await page.until(() => expect(announced(page)).toBe(sentence));
    expect(page.find(".change-set .note").textContent).toBe(sentence);
    tell(store, { ...READY, undone: 5, undoable: 0 });
    await page.until(() => expect(actions(page)).toEqual(["Review", "Redo"]));
    expect(page.root.activeElement?.textContent).toBe("Redo");
    page.button("Redo").click();
    expect(operations(store)[1]).toEqual({ channel: SET, operationId: "redo" });
  });

  test("shows an error when Undo fails and ignores a second click", async () => {
    const store = ended(READY);
    let refuse: (error: Error) => void = () => {};
    store.answer = () => new Promise((_, reject) => (refuse = reject));
    const page = show(store);
    page.button("Undo").click();
    await page.until(() => expect(page.button("Undo").getAttribute("aria-disabled")).toBe("true"));
    page.button("Undo").click();
    expect(operations(store)).toHaveLength(1);
    refuse(new Error("There is no space on the disk."));
    await page.until(() => expect(page.find("[role=alert]").textContent).toBe("There is no space on the disk."));
    expect(page.button("Undo").getAttribute("aria-disabled")).toBe("false");
  });

  test("ignores Undo when the kernel has ended", () => {
    const store = ended(READY);
    store.connection.value = "gone";
    const page = show(store);
    page.button("Undo").click();
    expect(operations(store)).toEqual([]);
  });

  test("is absent when an older kernel sends no change data", () => {
    expect(show(ended()).all(".change-set")).toEqual([]);
  });
});

describe("the review", () => {
  const FILES = [
    change("file:src/fit.py", { by: ["toolCall", "user"] }, [2, 1]),
    change("file:new.md", { status: "added", by: ["otherTab"] }, [1, 0]),
    change("file:old.csv", { status: "deleted", state: "undone" }, [0, 6]),
    change("file:fig.png", { status: "moved", was: "plots/fig.png", binary: true, state: "kept" }),
    change("cell:c1", { name: "In [4]: fit()", by: ["toolCall"] }, [1, 1]),
    change("variable:df", { detail: "DataFrame (100, 3) → (100, 4)" }),
    change("variable:rows", { undoable: false, reason: "what it was before is not kept: it is too large" }),
  ];

  async function reviewed(store: MemoryStore): Promise<Page> {
    const page = show(store);
    page.button("Review").click();
    await page.until(() => expect(page.all(".change").length).toBeGreaterThan(0));
    return page;
  }

  test("lists files, cells and variables with their origin and buttons", async () => {
    const page = await reviewed(ended(READY, ...FILES));
    expect(page.button("Review").getAttribute("aria-expanded")).toBe("true");
    expect(page.all(".change-group").map((group) => group.getAttribute("aria-label"))).toEqual([
      "Files",
      "Cells",
      "Variables",
    ]);
    const rows = page
      .all(".change")
      .map((row) => [
        row.querySelector(".path")?.textContent,
        [...row.querySelectorAll(".chip")].map((chip) => chip.textContent),
        row.querySelector(".fold-head > .cut")?.textContent ?? "",
        [...row.querySelectorAll(".change-action")].map((button) => button.getAttribute("aria-label")),
      ]);
    expect(rows).toEqual([
      ["src/fit.py", [], "your save", ["Undo src/fit.py"]],
      ["new.md", ["new"], "also changed by another tab", ["Undo new.md"]],
      ["old.csv", ["deleted", "undone"], "", ["Redo old.csv"]],
      ["fig.png", ["moved", "kept"], "was plots/fig.png", []],
      ["In [4]: fit()", [], "", ["Undo In [4]: fit()"]],
      ["df", [], "DataFrame (100, 3) → (100, 4)", ["Undo df"]],
      ["rows", [], "what it was before is not kept: it is too large", []],
    ]);
  });

  test("loads a diff on a click and shows it as plain text", async () => {
    const store = ended(READY, change("file:a.html", {}, [1, 1]));
    store.answer = texts({ "file:a.html before": "<i>1</i>\n", "file:a.html after": "<script>2</script>\n" });
    const page = await reviewed(store);
    expect(store.requested.filter(({ method }) => method === "readChange")).toEqual([]);
    page.find(".change .fold-head").click();
    await page.until(() => expect(page.find(".change .line.added .text").textContent).toBe("<script>2</script>"));
    expect(page.find(".change .line.removed .text").textContent).toBe("<i>1</i>");
    expect(page.all(".change script, .change i")).toEqual([]);
  });

  test("reads only the existing side and shows why a diff is unavailable", async () => {
    const store = ended(READY, change("file:.env", { status: "added" }));
    store.answer = () => Promise.reject(new Error("Its content was not stored."));
    const page = await reviewed(store);
    page.find(".change .fold-head").click();
    await page.until(() => expect(page.find(".change .diff .note").textContent).toBe("Its content was not stored."));
    const requests = store.requested.filter(({ method }) => method === "readChange").map(({ params }) => params);
    expect(requests).toEqual([{ channel: SET, id: "file:.env", side: "after" }]);
  });

  test.each([
    [{ isBinary: true }, "Not text: 5 B before, 5 B after."],
    [{ isCut: true }, "Too large to compare here: 5 B before, 5 B after."],
  ])("shows sizes instead of a diff for %j", async (more, expected) => {
    const store = ended(READY, change("file:a"));
    store.answer = () => Promise.resolve({ text: "", size: 5, isCut: false, isBinary: false, ...more });
    const page = await reviewed(store);
    page.find(".change .fold-head").click();
    await page.until(() => expect(page.find(".change .diff .note").textContent).toBe(expected));
  });

  test("undoes and redoes one change and keeps the focus", async () => {
    const store = ended(READY, change("file:a"), change("file:b"));
    const page = await reviewed(store);
    page.button("Undo b").focus();
    page.button("Undo b").click();
    store.apply(SET, { type: "changeset/fileSet", file: change("file:b", { state: "undone" }) });
    await page.until(() => expect(page.root.activeElement?.getAttribute("aria-label")).toBe("Redo b"));
    await page.until(() => expect(page.button("Redo b").getAttribute("aria-disabled")).toBe("false"));
    page.button("Redo b").click();
    const target = { kind: "resource", resource: "file:b" };
    expect(operations(store)).toEqual([
      { channel: SET, operationId: "undo", target },
      { channel: SET, operationId: "redo", target },
    ]);
  });

  test("applies cells found only in the notebook file, one or all", async () => {
    const store = ended(READY, change("cell:a", { state: "offered" }), change("cell:b", { state: "offered" }));
    const page = await reviewed(store);
    expect(page.all(".change .chip").map((chip) => chip.textContent)).toEqual(["only in the file", "only in the file"]);
    page.button("Apply b").click();
    await page.until(() => expect(page.button("Apply b").getAttribute("aria-disabled")).toBe("false"));
    page.button("Apply to the notebook").click();
    expect(operations(store)).toEqual([
      { channel: SET, operationId: "apply", target: { kind: "resource", resource: "cell:b" } },
      { channel: SET, operationId: "apply" },
    ]);
    const gone = change("cell:a", { state: "offered", undoable: false, reason: "It was changed in another kernel." });
    store.changeset(SET).value = { status: "ready", files: [gone, change("cell:b")] };
    await page.until(() => expect(page.all("[aria-label^=Apply]")).toEqual([]));
    expect(page.all(".change-group > button")).toEqual([]);
  });

  test("shows three versions of an edited cell before applying it", async () => {
    const store = ended(READY, change("cell:a", { state: "offered" }));
    const conflict = { id: "cell:a", path: "In [1]", base: "x = 1", current: "x = 2", target: "x = 10" };
    store.answer = () => Promise.resolve({ message: "Other.", conflicts: [conflict] });
    const page = await reviewed(store);
    page.button("Apply to the notebook").click();
    await page.until(() => expect(page.find(".conflicts strong").textContent).toContain("Nothing was applied yet."));
    expect(page.find(".conflicts [type=submit]").textContent).toBe("Apply");
    expect(page.find(".conflicts").textContent).toContain("Use the agent's");
  });

  test("shows hidden characters in names, shortens them and escapes markup", async () => {
    const names = ["a\n\u202egnp.exe", `${"x".repeat(600)}`, "<img src=x onerror=alert(1)>", " "];
    const files = names.map((name, at) => change(`file:${at}`, { name }));
    const page = await reviewed(ended(READY, ...files));
    expect(page.all(".change .path").map((path) => path.textContent)).toEqual([
      "a ⟨U+202E⟩gnp.exe",
      `${"x".repeat(499)}…`,
      "<img src=x onerror=alert(1)>",
      "(no name)",
    ]);
    expect(page.all(".change img")).toEqual([]);
  });

  test("draws 20 of many changes first and more on request", async () => {
    const files = Array.from({ length: 230 }, (_, at) => change(`file:${at}`));
    const page = await reviewed(ended(READY, ...files));
    expect(page.all(".change")).toHaveLength(20);
    page.button("Show 100 more of 230").click();
    await page.until(() => expect(page.all(".change")).toHaveLength(120));
  });

  test("loads its module once and shows an error when that fails", async () => {
    const fetched: string[] = [];
    const store = ended(READY, ...FILES);
    const whole = store.module;
    Object.assign(store, {
      module: (name: string) => {
        fetched.push(name);
        return fetched.length === 1 ? Promise.reject(new Error("The kernel does not answer.")) : whole(name);
      },
    });
    const page = show(store);
    page.button("Review").click();
    await page.until(() => expect(page.find(".change-list").textContent).toContain("The kernel does not answer."));
    expect(page.find(".change-list strong").textContent).toBe("The changes couldn't be loaded");
    for (const opened of [false, true, false, true]) {
      page.button("Review").click();
      await page.until(() => expect(page.all(".change").length > 0).toBe(opened));
    }
    expect(fetched).toEqual(["review", "review"]);
  });

  test("shows a message when the kernel no longer has the changes", async () => {
    const store = ended(READY);
    store.changeset(SET).value = undefined;
    const page = show(store);
    page.button("Review").click();
    await page.until(() => expect(page.find(".change-list").textContent).toContain("Loading"));
    store.gaps.value = { [SET]: "The kernel no longer has these changes." };
    await page.until(() =>
      expect(page.find(".change-list").textContent).toBe("The kernel no longer has these changes."),
    );
  });

  test("opens side-by-side diffs and files in the front end", async () => {
    const reviews: Review[] = [];
    const opened: unknown[] = [];
    const store = ended(READY, change("variable:df"), change("file:a.py"), change("cell:c", { name: "In [1]" }));
    store.answer = texts({ "file:a.py before": "1\n", "file:a.py after": "2\n" });
    store.notebook = {
      insertBelow: () => {},
      replaceActive: () => {},
      run: () => {},
      compare: (review) => void reviews.push(review),
      openFile: (path, workspace) => void opened.push([path, workspace]),
    };
    const page = await reviewed(store);
    await page.until(() => expect(reviews).toHaveLength(1));
    page.all(".change .compare")[1]?.click();
    expect(reviews.map(({ key, title, first }) => [key, title, first])).toEqual([
      [SET, "Fit it", "file:a.py"],
      [SET, "Fit it", "cell:c"],
    ]);
    const [file, cell] = reviews[0]?.changes ?? [];
    expect([file?.name, cell?.name, cell?.open]).toEqual(["a.py", "In [1]", undefined]);
    expect(await file?.load()).toEqual({ before: "1\n", after: "2\n" });
    file?.open?.();
    page.button("Open a.py").click();
    expect(opened).toEqual([
      ["a.py", undefined],
      ["a.py", undefined],
    ]);
  });

  test("gives side-by-side diffs the list's buttons while it is open", async () => {
    const reviews: Review[] = [];
    const store = ended(READY, change("file:a.py"), change("file:b.py", { state: "kept" }));
    store.notebook = { insertBelow() {}, replaceActive() {}, run() {}, compare: (review) => void reviews.push(review) };
    const page = await reviewed(store);
    await page.until(() => expect(reviews).toHaveLength(1));
    const heard: ((id: string) => Standing)[] = [];
    const stop = reviews[0]?.follow?.((standing) => void heard.push(standing));
    const standing = (id: string) => {
      const current = heard.at(-1)?.(id);
      return [current?.said, current?.isBusy, ...(current?.actions.map(({ word }) => word) ?? [])];
    };
    expect(standing("file:a.py")).toEqual(["", false, "Keep", "Undo"]);
    expect(standing("file:b.py")).toEqual(["kept", false]);
    expect(standing("file:other")).toEqual(["", false]);
    let answer = (_: unknown): void => {};
    store.answer = () => new Promise((resolve) => (answer = resolve));
    heard.at(-1)?.("file:a.py").actions[1]?.run();
    await page.until(() => expect(standing("file:a.py")).toEqual(["", true, "Keep", "Undo"]));
    heard.at(-1)?.("file:a.py").actions[1]?.run(); // a second click sends nothing
    expect(operations(store)).toEqual([
      { channel: SET, operationId: "undo", target: { kind: "resource", resource: "file:a.py" } },
    ]);
    answer({ message: "1 file was undone." });
    store.changeset(SET).value = { status: "ready", files: [change("file:a.py", { state: "undone" })] };
    await page.until(() => expect(standing("file:a.py")).toEqual(["undone", false, "Redo"]));
    page.button("Review").click();
    await page.until(() => expect(standing("file:a.py")).toEqual(["", false]));
    stop?.();
  });
});

describe("a conflict", () => {
  const conflicts = [
    { id: "file:a.py", path: "a.py", base: "agent\n", current: "mine\n", target: "before\n" },
    { id: "file:b.py", path: "b.py", base: "agent\n", target: "before\n" },
  ];

  async function conflicting() {
    const store = ended(READY, change("file:a.py"));
    store.answer = () => Promise.resolve({ message: "2 files were changed since.", conflicts });
    const page = show(store);
    page.button("Undo").click();
    await page.until(() => expect(page.all(".conflicts fieldset")).toHaveLength(2));
    return { store, page };
  }

  test("shows three versions and undoes only after a choice for each file", async () => {
    const { store, page } = await conflicting();
    expect(page.find(".conflicts strong").textContent).toBe("2 conflicts: changed since. Nothing was undone yet.");
    await page.until(() => expect(announced(page)).toBe("2 conflicts. 2 files were changed since."));
    const heads = page.all(".conflicts fieldset:nth-of-type(1) .fold-head > span:first-of-type");
    expect(heads.map((head) => head.textContent)).toEqual(["Before the turn", "As the agent left it", "Now"]);
    expect(page.all(".conflicts .line .text").map((one) => one.textContent)).toEqual(["agent", "mine", "agent"]);
    const send = page.find<HTMLButtonElement>(".conflicts button[type=submit]");
    const radio = (at: number) => page.all(".conflicts input")[at] as HTMLElement;
    expect(send.disabled).toBe(true);
    radio(0).click();
    await page.until(() => expect((radio(0) as HTMLInputElement).checked).toBe(true));
    expect(send.disabled).toBe(true);
    radio(3).click();
    await page.until(() => expect(send.disabled).toBe(false));
    store.answer = () => Promise.resolve({ message: "Undid 1 file." });
    send.click();
    await page.until(() => expect(page.all(".conflicts")).toEqual([]));
    expect(operations(store)[1]).toEqual({
      channel: SET,
      operationId: "undo",
      choices: { "a.py": "mine", "b.py": "theirs" },
    });
  });

  test("changes nothing when the user cancels", async () => {
    const { store, page } = await conflicting();
    page.button("Cancel").click();
    await page.until(() => expect(page.all(".conflicts")).toEqual([]));
    expect(operations(store)).toHaveLength(1);
  });
});

describe("the conversation", () => {
  function two(): MemoryStore {
    const store = Object.assign(ended(READY, change("file:a.py"), change("variable:x", { undoable: false })), {
      module: fetchModule,
    });
    startTurn(store, "t2", "And plot it");
    store.apply(CHAT, { type: "chat/turnComplete", turnId: "t2" });
    tell(store, { ...READY, files: 1, cells: 0, variables: 0, undoable: 1 }, "t2");
    store.changeset(`${ALL}/t2`).value = { status: "ready", files: [change("file:a.py"), change("file:plot.py")] };
    store.changeset(ALL).value = { status: "ready", files: [change("file:a.py", {}, [3, 1]), change("file:plot.py")] };
    return store;
  }

  /** Opens the form of this entry in a turn's menu. */
  async function asks(page: Page, entry: string): Promise<HTMLElement> {
    page.button("Turn").click();
    await page.until(() => expect(page.all("[role=menuitem]")).toHaveLength(3));
    (page.all("[role=menuitem]").find((one) => one.textContent?.startsWith(entry)) as HTMLElement).click();
    await page.until(() => expect(page.all("[role=alertdialog]")).toHaveLength(1));
    return page.find("[role=alertdialog]");
  }

  const rewound = (store: MemoryStore) =>
    store.requested.filter(({ method }) => method === "rewindSession").map(({ params }) => params);

  test("goes back to before a message after listing what that undoes", async () => {
    const store = two();
    store.answer = () => Promise.resolve({ message: "2 files were undone." });
    const page = show(store);
    const dialog = await asks(page, "Go back");
    await page.until(() => expect(dialog.textContent).toContain("2 turns will be removed; History keeps a copy."));
    await page.until(() =>
      expect([...dialog.querySelectorAll("li")].map((one) => one.textContent)).toEqual(["a.py", "plot.py"]),
    );
    expect(dialog.querySelector("label")?.textContent).toBe(
      "and files, cells and variables go back to how they were (2 files)",
    );
    expect(page.root.activeElement?.textContent).toBe("Go back");
    page.button("Go back").click();
    expect(rewound(store)).toEqual([{ channel: SESSION, turnId: "t1", changes: true }]);
    await page.until(() => expect(page.all("[role=alertdialog]")).toEqual([]));
    expect(page.find<HTMLTextAreaElement>(".prompt textarea").value).toBe("Fit it");
  });

  test("goes back without undoing changes when the box is unchecked", async () => {
    const store = two();
    store.answer = () => Promise.resolve({ message: "" });
    const page = show(store);
    const dialog = await asks(page, "Go back");
    dialog.querySelector<HTMLInputElement>("[type=checkbox]")?.click();
    page.button("Go back").click();
    expect(rewound(store)).toEqual([{ channel: SESSION, turnId: "t1", changes: false }]);
  });

  test("lists conflicts and goes back only after a second confirmation", async () => {
    const store = two();
    const conflict = { id: "file:a.py", path: "a.py", base: "1", current: "2", target: "3" };
    store.answer = () => Promise.resolve({ message: "Changed since.", conflicts: [conflict] });
    const page = show(store);
    const dialog = await asks(page, "Go back");
    page.button("Go back").click();
    await page.until(() => expect(dialog.textContent).toContain("Nothing was undone."));
    expect(dialog.querySelector("[role=status]")?.textContent).toContain("stay as they are: a.py.");
    store.answer = () => Promise.resolve({ message: "" });
    page.button("Go back all the same").click();
    await page.until(() => expect(page.all("[role=alertdialog]")).toEqual([]));
    expect(rewound(store)[1]).toEqual({ channel: SESSION, turnId: "t1", changes: true, choices: { "a.py": "mine" } });
  });

  test("goes back and sends the edited message", async () => {
    const store = two();
    store.answer = () => Promise.resolve({ message: "" });
    const page = show(store);
    const dialog = await asks(page, "Edit");
    const box = dialog.querySelector("textarea") as HTMLTextAreaElement;
    await page.until(() => expect(box.value).toBe("Fit it"));
    box.value = "Fit it well";
    press(box, "Enter");
    await page.until(() => expect(page.all("[role=alertdialog]")).toEqual([]));
    expect(rewound(store)).toEqual([{ channel: SESSION, turnId: "t1", changes: true }]);
    const { action } = store.dispatched.at(-1) as { action: { type: string; message: { text: string } } };
    expect([action.type, action.message.text]).toEqual(["chat/turnStarted", "Fit it well"]);
  });

  test("changes nothing on Escape and restores the focus", async () => {
    const store = two();
    const page = show(store);
    press(await asks(page, "Go back"), "Escape");
    await page.until(() => expect(page.all("[role=alertdialog]")).toEqual([]));
    expect(rewound(store)).toEqual([]);
    await page.until(() => expect(page.root.activeElement?.getAttribute("aria-label")).toBe("Turn"));
  });

  test("is cleared from its menu", async () => {
    const store = two();
    store.answer = () => Promise.resolve({ message: "" });
    const page = show(store);
    page.button("Conversation").click();
    await page.until(() => expect(page.all("[role=menuitem]").length).toBeGreaterThan(0));
    (page.all("[role=menuitem]").find((one) => one.textContent?.startsWith("Clear")) as HTMLElement).click();
    await page.until(() => expect(page.all("[role=alertdialog]")).toHaveLength(1));
    page.button("Clear").click();
    await page.until(() => expect(page.all("[role=alertdialog]")).toEqual([]));
    expect(rewound(store)).toEqual([{ channel: SESSION, changes: false }]);
  });

  test("lists all its changes in a panel opened from its menu", async () => {
    const store = two();
    const page = show(store);
    const names = async () => {
      page.button("Conversation").click();
      await page.until(() => expect(page.all("[role=menuitem]").length).toBeGreaterThan(0));
      return page.all("[role=menuitem] .menu-name").map((one) => one.textContent);
    };
    expect(await names()).not.toContain("Changes");
    press(page.find("[role=menuitem]"), "Escape");
    const changesets = [{ label: "All", uriTemplate: ALL, changeKind: "session" }];
    store.apply(SESSION, { type: "session/changesetsChanged", changesets });
    await page.until(() => expect(page.all("[role=menuitem]")).toEqual([]));
    expect(await names()).toContain("Changes");
    (page.all("[role=menuitem]").find((one) => one.textContent?.startsWith("Changes")) as HTMLElement).click();
    await page.until(() =>
      expect(page.all(".all-changes .change .path").map((one) => one.textContent)).toEqual(["a.py", "plot.py"]),
    );
    expect(page.find(".all-changes .change-counts").textContent).toBe("2 files 3 lines added, 1 removed+3\u2009−1");
    page.button("Undo all").click();
    expect(operations(store)).toEqual([{ channel: ALL, operationId: "undo" }]);
    press(page.find(".all-changes"), "Escape");
    await page.until(() => expect(page.all(".all-changes")).toEqual([]));
  });

  test.each([
    [["toolCall", "user"], 0],
    [["user"], 0],
    [["otherTab"], 0],
    [["toolCall", "otherTab"], 1],
    [["during"], 1],
    [[], 1],
  ])("counts a file changed by %j as undoable with all others: %i", (by, expected) => {
    expect(tallyOfAll(changesOf({ status: "ready", files: [change("file:a.py", { by })] })).undoable).toBe(expected);
  });
});
