/** How the parts of an answer are grouped into lines, and how a line of folded calls opens. */
import { describe, expect, test } from "vitest";
import type { Action, ResponsePart, TerminalView, ToolCallState } from "../../src/state/types.gen";
import { answerLines, callsOf, runTitle } from "../../src/view/tool-runs";
import { CHAT, type MemoryStore, readyStore, startTurn } from "./memory-store";
import { open } from "./page";

/** Pseudo-random numbers that are the same in each run (mulberry32). */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

function part(id: string, kind: string, more: object = {}, details: object = {}): ResponsePart {
  const known = { toolCallId: id, toolName: kind, displayName: kind, invocationMessage: "", pastTenseMessage: "" };
  const ended = { status: "completed", success: true, confirmed: "not-needed" };
  return {
    kind: "toolCall",
    toolCall: { ...known, ...ended, ...more, details: { kind, ...details } } as ToolCallState,
  };
}

const text = (id: string): ResponsePart => ({ kind: "markdown", id, content: "So." });
const thought = (id: string): ResponsePart => ({ kind: "reasoning", id, content: "Hm." });
const all = (parts: readonly ResponsePart[]) => [...parts.keys()];
const terminals: TerminalView[] = [
  { id: "good", command: "ls", exited: true, exitCode: 0 },
  { id: "bad", command: "ls", exited: true, exitCode: 1 },
  { id: "killed", command: "ls", exited: true, signal: "SIGKILL" },
  { id: "running", command: "ls", exited: false },
];
const shows = (terminalId: string) => ({ content: [{ type: "terminal", terminalId }] });

/** Calls that stay visible, each for another reason. */
const SEEN: ((id: string) => ResponsePart)[] = [
  (id) => part(id, "read", { status: "running" }),
  (id) => part(id, "read", { status: "streaming" }),
  (id) => part(id, "read", { status: "pending-confirmation" }),
  (id) => part(id, "read", { status: "pending-result-confirmation" }),
  (id) => part(id, "read", { status: "cancelled", reason: "denied", reasonMessage: "Not there." }),
  (id) => part(id, "read", {}, { ranWithoutAsking: true }),
  (id) => part(id, "kernel", {}, { differences: ["It printed more."] }),
  (id) => part(id, "fetch", {}, { research: {} }),
  (id) => part(id, "read", {}, { content: [{ type: "block", block: { type: "image" } }] }),
  (id) => part(id, "kernel", {}, { run: { content: [{ type: "block", block: { type: "image" } }] } }),
  (id) => part(id, "read", { content: [{ type: "embeddedResource", data: "", contentType: "image/png" }] }),
  (id) => part(id, "execute", {}, shows("bad")),
  (id) => part(id, "execute", {}, shows("killed")),
  (id) => part(id, "execute", {}, shows("running")),
];
const FOLDED: ((id: string) => ResponsePart)[] = [
  (id) => part(id, "read"),
  (id) => part(id, "read", { confirmed: "user-action" }),
  (id) => part(id, "search", {}, { content: [{ type: "text", text: "found" }] }),
  (id) => part(id, "fetch", { confirmed: "setting" }),
  (id) => part(id, "execute", {}, shows("good")),
  (id) => part(id, "edit", {}, { content: [{ type: "diff", path: "a", newText: "" }] }),
  ...["delete", "move", "kernel", "think", "other", "constructor"].map((kind) => (id: string) => part(id, kind)),
];
const FAILED: ((id: string) => ResponsePart)[] = ["No such file", "Refused"].map(
  (message) => (id: string) => part(id, "read", { success: false, error: { message } }),
);

describe("the lines of an answer", () => {
  test("contain each part once, in order, with finished work folded", () => {
    for (let seed = 0; seed < 400; seed += 1) {
      const next = numbers(seed);
      const makers = [text, thought, thought, ...SEEN, ...FAILED, ...Array.from({ length: 3 }, () => FOLDED).flat()];
      const made = Array.from({ length: next(30) }, (_, at) => {
        const maker = makers[next(makers.length)] as typeof text;
        return { maker, part: maker(`p${at}`) };
      });
      const parts = made.map((each) => each.part);
      const visibleParts = all(parts).filter(() => next(10) > 0);
      const lines = answerLines(parts, visibleParts, terminals);
      expect(lines.flat().sort((one, other) => one - other)).toEqual(visibleParts);
      const firsts = lines.map((line) => (typeof line === "number" ? line : (line[0] as number)));
      expect(firsts).toEqual([...firsts].sort((one, other) => one - other));
      const lineOf = new Map(lines.flatMap((line) => (typeof line === "number" ? [] : line.map((at) => [at, line]))));
      let texts = 0;
      const work = new Map<string, Set<unknown>>();
      for (const at of visibleParts) {
        const { maker } = made[at] as (typeof made)[number];
        if (maker === text) texts += 1;
        const is = FOLDED.includes(maker) ? "done" : FAILED.includes(maker) ? `failed ${FAILED.indexOf(maker)}` : "";
        const key = `${texts} ${is}`;
        if (is) work.set(key, (work.get(key) ?? new Set()).add(lineOf.get(at) ?? at));
        if (SEEN.includes(maker) || maker === text) expect(lineOf.get(at)).toBeUndefined();
      }
      for (const those of work.values()) expect(those.size).toEqual(1);
    }
  });

  test.each(SEEN.map((make, at) => [at, make] as const))(
    "keep call %i outside the run of finished calls",
    (_, make) => {
      const looks = (name: string) => ["1", "2", "3"].map((id) => part(name + id, "read"));
      const parts = [...looks("a"), make("x"), ...looks("b")];
      expect(answerLines(parts, all(parts), terminals)).toEqual([[0, 1, 2, 4, 5, 6], 3]);
    },
  );

  test("fold thoughts with their calls, except the current thought", () => {
    const parts = [thought("1"), part("a", "read"), thought("2"), part("b", "read"), thought("3")];
    expect(answerLines(parts, all(parts))).toEqual([[0, 1, 2, 3, 4]]);
    expect(answerLines(parts, all(parts), [], 4)).toEqual([[0, 1, 2, 3], 4]);
    expect(answerLines([thought("1"), text("t")], [0, 1])).toEqual([0, 1]);
  });

  test("fold two calls but not one, and start a new line after a text", () => {
    const parts = [part("a", "read"), part("b", "read"), text("t"), part("c", "read")];
    expect(answerLines(parts, all(parts))).toEqual([[0, 1], 2, 3]);
  });

  test("fold failed calls of the same kind and with the same error", () => {
    const fail = (id: string, kind: string, message: string) => part(id, kind, { success: false, error: { message } });
    const parts = [
      fail("a", "fetch", "Refused\n  at socket.c:12"),
      part("b", "read"),
      fail("c", "fetch", "Refused\n  at socket.c:99"),
      fail("d", "fetch", "Timed out"),
      fail("e", "read", "Refused"),
    ];
    expect(answerLines(parts, all(parts))).toEqual([[0, 2], 1, 3, 4]);
  });

  test("fold denied calls, unless they have a reason", () => {
    const deny = (id: string, reasonMessage?: string) =>
      part(id, "edit", { status: "cancelled", reason: "denied", ...(reasonMessage && { reasonMessage }) });
    const parts = [deny("a"), deny("b", "A rule of the site."), deny("c")];
    expect(answerLines(parts, all(parts))).toEqual([[0, 2], 1]);
  });

  test("fold thousands of calls into one line", () => {
    const parts = Array.from({ length: 5_000 }, (_, at) => part(`c${at}`, "execute", {}, shows(`t${at}`)));
    const many = parts.map((_, at) => ({ id: `t${at}`, command: "ls", exited: true, exitCode: 0 }));
    expect(answerLines(parts, all(parts), many)).toEqual([all(parts)]);
  });
});

describe("the title of a run", () => {
  const read = (id: string, ...paths: string[]) => part(id, "read", {}, { locations: paths.map((path) => ({ path })) });
  const title = (...parts: ResponsePart[]) => runTitle(callsOf(parts, all(parts)));

  test("counts files, searches, pages and commands in starting order", () => {
    const parts = [read("a", "/x"), part("s", "search"), part("t", "search"), part("f", "fetch"), part("e", "execute")];
    expect(title(...parts)).toEqual("Read 1 file, searched 2 times, fetched 1 page, ran 1 command");
    expect(title(part("e", "execute"), part("f", "execute"), part("s", "search"))).toEqual(
      "Ran 2 commands, searched once",
    );
  });

  test("counts cells by action, and unknown calls as tools", () => {
    const cell = (id: string, action: string) => part(id, "edit", {}, { cell: { notebook: "n", action } });
    const cells = [...Array.from({ length: 14 }, (_, at) => cell(`i${at}`, "insert")), part("e", "execute")];
    expect(title(...cells)).toEqual("Inserted 14 cells, ran 1 command");
    const others = [
      cell("r", "replace"),
      cell("d", "delete"),
      cell("s", "split"),
      part("k", "kernel"),
      part("o", "odd"),
    ];
    expect(title(...others)).toEqual("Changed 2 cells, deleted 1 cell, ran 1 code snippet, used 1 tool");
  });

  test("counts a file read twice once, and a call without a file as one", () => {
    expect(title(read("a", "/x"), read("b", "/x"), read("c", "/y", "/z"), read("d"))).toEqual("Read 4 files");
  });
});

describe("a run in the answer", () => {
  const start = (store: MemoryStore, id: string, kind = "read") => {
    const ids = { turnId: "t1", toolCallId: id };
    const details = { kind, content: [{ type: "text", text: `text of ${id}` }] };
    store.apply(CHAT, { type: "chat/toolCallStart", ...ids, toolName: kind, displayName: id, details } as Action);
    store.apply(CHAT, { type: "chat/toolCallReady", ...ids, invocationMessage: "", confirmed: "not-needed" } as Action);
  };
  const end = (store: MemoryStore, id: string, success = true) => {
    const result = { success, pastTenseMessage: "" };
    store.apply(CHAT, { type: "chat/toolCallComplete", turnId: "t1", toolCallId: id, result } as Action);
  };
  const startedStore = () => {
    const store = readyStore();
    startTurn(store, "t1", "Look");
    return store;
  };
  const show = (store: MemoryStore) => open(store, { kind: "turn", channel: CHAT, turnId: "t1" });
  const labels = (page: ReturnType<typeof open>) => page.all(".answer .label").map((label) => label.textContent);

  test("opens and closes with its button, and shows the calls in order", async () => {
    const store = startedStore();
    for (const id of ["one", "two", "three"]) start(store, id);
    for (const id of ["one", "two", "three"]) end(store, id);
    const page = show(store);
    expect(labels(page)).toEqual(["Read 3 files"]);
    const head = page.find<HTMLButtonElement>(".tool-run button");
    expect(head.getAttribute("aria-expanded")).toEqual("false");
    head.click();
    await page.until(() => expect(labels(page)).toEqual(["Read 3 files", "one", "two", "three"]));
    expect(page.find(".tool-run button")).toBe(head);
    expect(head.getAttribute("aria-expanded")).toEqual("true");
    head.click();
    await page.until(() => expect(labels(page)).toEqual(["Read 3 files"]));
  });

  test("keeps a running call visible until it ends", async () => {
    const store = startedStore();
    for (const id of ["one", "two", "three", "four"]) start(store, id);
    for (const id of ["two", "three", "four"]) end(store, id);
    const page = show(store);
    expect(labels(page)).toEqual(["one", "Read 3 files"]);
    page.find(".tool-run button").click();
    await page.until(() => expect(labels(page)).toEqual(["one", "Read 3 files", "two", "three", "four"]));
    end(store, "one");
    await page.until(() => expect(labels(page)).toEqual(["Read 4 files", "one", "two", "three", "four"]));
  });

  test("keeps a failed call visible with its error, and folds the details", async () => {
    const store = startedStore();
    for (const id of ["one", "two", "three", "four"]) start(store, id);
    for (const id of ["one", "two", "three"]) end(store, id);
    end(store, "four", false);
    const page = show(store);
    expect(labels(page)).toEqual(["Read 3 files", "four"]);
    expect(page.find(".failure").textContent).toEqual("text of four");
    expect(page.root.querySelector(".output")).toBeNull();
    page.all(".tool .fold-head").at(-1)?.click();
    await page.until(() => expect(page.find(".output").textContent).toContain("text of four"));
  });

  test("shows 100 of 2,000 calls when opened, and 100 more on click", async () => {
    const store = startedStore();
    const ids = Array.from({ length: 2_000 }, (_, at) => `call ${at}`);
    for (const id of ids) start(store, id);
    for (const id of ids) end(store, id);
    const page = show(store);
    expect(labels(page)).toEqual(["Read 2,000 files"]);
    page.find(".tool-run button").click();
    await page.until(() => expect(labels(page).length).toEqual(101));
    page.button("Show 100 more of 2,000").click();
    await page.until(() => expect(labels(page).length).toEqual(201));
  });

  test("does not fold a call that the user opened, and keeps its node", async () => {
    const store = startedStore();
    start(store, "one");
    end(store, "one");
    const page = show(store);
    page.find(".tool .fold-head").click();
    await page.until(() => page.find(".output"));
    const output = page.find(".output");
    for (const id of ["two", "three"]) start(store, id);
    for (const id of ["two", "three"]) end(store, id);
    await page.until(() => expect(labels(page)).toEqual(["Read 3 files", "one", "two", "three"]));
    expect(page.find(".output")).toBe(output);
  });

  test("does not fold a call that has the focus", async () => {
    const store = startedStore();
    start(store, "one");
    end(store, "one");
    const page = show(store);
    page.find(".tool .fold-head").focus();
    const focused = page.root.activeElement;
    for (const id of ["two", "three"]) start(store, id);
    for (const id of ["two", "three"]) end(store, id);
    await page.until(() => expect(labels(page)).toEqual(["Read 3 files", "one", "two", "three"]));
    expect(page.root.activeElement).toBe(focused);
  });
});
