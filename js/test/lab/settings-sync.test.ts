/** JupyterLab's Settings editor and the files of kernels hold the same values, whichever side changes. */
import type { Settings } from "@jupyterlab/settingregistry";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SettingsSync } from "../../src/lab/settings-sync";
import { eventually } from "../eventually";

type Values = Record<string, unknown>;
const NAMES = ["agent", "cwd", "warm", "timeout"];

/** JupyterLab's settings of one plugin. */
class Editor {
  user: Values = {};
  readonly #slots: ((sender: unknown, args: unknown) => void)[] = [];
  readonly changed = {
    connect: (slot: (sender: unknown, args: unknown) => void) => this.#slots.push(slot) > 0,
    disconnect: () => true,
  };

  constructor(user: Values = {}) {
    this.user = user;
  }

  edit(user: Values): void {
    this.user = user;
    for (const slot of this.#slots) slot(this, undefined);
  }

  default(key: string): unknown {
    return key === "warm" ? [] : undefined;
  }

  async set(key: string, value: unknown): Promise<void> {
    if (key === "timeout") throw new Error("not in the schema");
    this.edit({ ...this.user, [key]: value });
  }

  async remove(key: string): Promise<void> {
    const { [key]: _, ...rest } = this.user;
    this.edit(rest);
  }
}

/** A kernel with the values of its user's file. */
class Kernel {
  readonly changes: Values[] = [];
  readonly #ended = new AbortController();
  #listener: () => void = () => {};
  refuses = "";
  /** The requests that it never answers. */
  ignores = "";
  hasIgnored = false;
  file: Values;

  constructor(file: Values = {}) {
    this.file = file;
  }

  readonly access = {
    request: async <T>(method: string, params: object): Promise<T> => {
      if (method !== this.ignores) return this.#answer(method, params as Values) as T;
      this.hasIgnored = true;
      return new Promise(() => {});
    },
    onChange: (listener: () => void) => {
      this.#listener = listener;
    },
    signal: this.#ended.signal,
  };

  #answer(method: string, params: Values): unknown {
    if (method === "listSettings") {
      const listed = NAMES.map((name) => ({ name, kind: "text", file: "settings.toml", inFile: this.file[name] }));
      const secret = { name: "mcp_servers", kind: "servers", file: "settings.toml", inFile: ["db"] };
      return { groups: [{ title: "All", settings: [...listed, secret] }] };
    }
    if (method !== "changeSetting") return {};
    this.changes.push(params);
    const name = String(params.name);
    if (this.refuses) throw new Error(this.refuses);
    if (name === "cwd" && params.value !== null && params.confirmed === undefined) return { confirm: "More?" };
    this.write({ ...this.file, [name]: params.value ?? undefined });
    return {};
  }

  /** Another program writes the file. */
  write(file: Values): void {
    this.file = JSON.parse(JSON.stringify(file));
    this.#listener();
  }

  end(): void {
    this.#ended.abort();
  }
}

beforeEach(() => {
  localStorage.clear();
});
afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

function joined(editor: Editor, ...kernels: Kernel[]) {
  const warnings: string[] = [];
  const questions: string[] = [];
  const answers = { confirms: true };
  const sync = new SettingsSync(editor as Settings, {
    warn: (sentence) => void warnings.push(sentence),
    confirm: async (sentence) => {
      questions.push(sentence);
      return answers.confirms;
    },
  });
  return { sync, warnings, questions, answers, ready: Promise.all(kernels.map(({ access }) => sync.join(access))) };
}

const written = (kernel: Kernel, file: Values) => eventually(() => expect(kernel.file).toEqual(file));
const shows = (editor: Editor, user: Values) => eventually(() => expect(editor.user).toEqual(user));

test("loads the file's values on opening and writes the editor's own ones", async () => {
  const [editor, kernel] = [new Editor({ agent: "claude", warm: ["a"] }), new Kernel({ agent: "codex", timeout: 60 })];
  await joined(editor, kernel).ready;
  expect(editor.user).toEqual({ agent: "codex", warm: ["a"] });
  expect(kernel.file).toEqual({ agent: "codex", timeout: 60, warm: ["a"] });
  expect(kernel.changes).toEqual([{ name: "warm", value: ["a"], here: false, was: null, checks: true }]);
  editor.edit({ agent: "claude", warm: ["a"] });
  await written(kernel, { agent: "claude", timeout: 60, warm: ["a"] }); // a value that the editor cannot show stays
});

test("syncs changes between the editor and the file without an echo", async () => {
  const [editor, kernel] = [new Editor(), new Kernel()];
  await joined(editor, kernel).ready;
  editor.edit({ agent: "claude" });
  await written(kernel, { agent: "claude" });
  kernel.write({ agent: "claude", warm: ["codex"] });
  await shows(editor, { agent: "claude", warm: ["codex"] });
  kernel.write({});
  await shows(editor, {});
  editor.edit({ warm: ["a"] });
  await written(kernel, { warm: ["a"] });
  expect(kernel.changes.map(({ name, value }) => [name, value])).toEqual([
    ["agent", "claude"],
    ["warm", ["a"]],
  ]);
});

test.each(["watchSettings", "listSettings", "changeSetting"])(
  "a kernel that ends without answering %s does not block others",
  async (ignored) => {
    const [editor, gone, kernel] = [new Editor({ warm: ["a"] }), new Kernel(), new Kernel({ agent: "claude" })];
    gone.ignores = ignored;
    const { warnings, sync } = joined(editor);
    const ended = sync.join(gone.access);
    const ready = sync.join(kernel.access);
    await eventually(() => expect(gone.hasIgnored).toBe(true));
    gone.end();
    await ended;
    await ready;
    expect(editor.user).toEqual({ agent: "claude", warm: ["a"] });
    editor.edit({ agent: "claude", warm: ["b"] });
    await written(kernel, { agent: "claude", warm: ["b"] });
    gone.write({ agent: "codex" }); // later messages of an ended kernel are ignored
    kernel.write({ agent: "claude", warm: ["c"] });
    await shows(editor, { agent: "claude", warm: ["c"] });
    expect(warnings).toEqual([]);
  },
);

test("the next kernel writes a change that the ended kernel did not write", async () => {
  const [editor, gone, kernel] = [new Editor(), new Kernel(), new Kernel()];
  const { ready, warnings, sync } = joined(editor, gone);
  await ready;
  gone.ignores = "changeSetting";
  editor.edit({ agent: "claude" });
  await eventually(() => expect(gone.hasIgnored).toBe(true));
  gone.end();
  await sync.join(kernel.access);
  expect([kernel.file, editor.user]).toEqual([{ agent: "claude" }, { agent: "claude" }]);
  expect(warnings).toEqual([]);
});

test("asks before giving agents more rights, and reverts when declined", async () => {
  const [editor, kernel] = [new Editor(), new Kernel()];
  const { questions, answers, ready } = joined(editor, kernel);
  await ready;
  answers.confirms = false;
  editor.edit({ cwd: "/data" });
  await shows(editor, {});
  expect([questions, kernel.file]).toEqual([["More?"], {}]);
  answers.confirms = true;
  editor.edit({ cwd: "/data" });
  await written(kernel, { cwd: "/data" });
  expect(kernel.changes.at(-1)?.confirmed).toBe("More?");
});

test("a refused value shows a warning and the editor reverts to the file", async () => {
  const [editor, kernel] = [new Editor(), new Kernel({ agent: "eliza" })];
  const { warnings, ready } = joined(editor, kernel);
  await ready;
  kernel.refuses = "agent was not changed: it was changed meanwhile.";
  editor.edit({ agent: "" });
  await shows(editor, { agent: "eliza" });
  expect(warnings).toEqual([kernel.refuses]);
});

test("the next kernel writes edits made without one, if the file is the same", async () => {
  const editor = new Editor();
  const first = new Kernel({ agent: "eliza", warm: ["a"] });
  await joined(editor, first).ready;
  first.end();
  editor.edit({ agent: "claude", warm: ["b"] });
  const next = new Kernel({ agent: "eliza", warm: ["c"] });
  await joined(editor, next).ready; // after a reload: the last common values were stored
  expect(next.file).toEqual({ agent: "claude", warm: ["c"] });
  expect(editor.user).toEqual({ agent: "claude", warm: ["c"] });
});

test("kernels with different files keep their own values", async () => {
  const [editor, one, other] = [new Editor(), new Kernel({ agent: "a" }), new Kernel({ agent: "b" })];
  await joined(editor, one, other).ready;
  expect([one.file, other.file]).toEqual([{ agent: "a" }, { agent: "b" }]);
  editor.edit({ ...editor.user, warm: ["x"] });
  await written(one, { agent: "a", warm: ["x"] });
  await written(other, { agent: "b", warm: ["x"] });
});

/** Simulates the form half a second after a keystroke: it saves all fields with the values that it knows. */
async function typed(box: HTMLInputElement, editor: Editor, saved: Values, meanwhile: () => void): Promise<void> {
  box.dispatchEvent(new Event("input", { bubbles: true }));
  meanwhile();
  await vi.advanceTimersByTimeAsync(500);
  editor.edit(saved);
  await vi.advanceTimersByTimeAsync(5_000);
}

/** A focused field of JupyterLab's Settings editor. */
function field(): HTMLInputElement {
  const panel = document.body.appendChild(document.createElement("div"));
  panel.className = "jp-SettingsPanel";
  const box = panel.appendChild(document.createElement("input"));
  box.focus();
  return box;
}

test("a half-typed value is not sent until the field loses focus", async () => {
  const [editor, kernel] = [new Editor({ agent: "claude" }), new Kernel({ agent: "claude" })];
  const { warnings, questions, ready } = joined(editor, kernel);
  await ready;
  vi.useFakeTimers();
  const box = field();
  kernel.refuses = "agent cannot be 'c'.";
  for (const half of ["c", "co"]) {
    editor.edit({ agent: half, cwd: "/d" });
    await vi.advanceTimersByTimeAsync(60_000);
    expect([kernel.file, kernel.changes, warnings, questions]).toEqual([{ agent: "claude" }, [], [], []]);
    expect(editor.user).toEqual({ agent: half, cwd: "/d" });
  }
  kernel.refuses = "";
  editor.edit({ agent: "codex", cwd: "/data" });
  await vi.advanceTimersByTimeAsync(60_000);
  box.blur();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(kernel.file).toEqual({ agent: "codex", cwd: "/data" });
  expect([warnings, questions]).toEqual([[], ["More?"]]);
});

test("saves a field that closes during typing, and a checkbox at once", async () => {
  const [editor, kernel] = [new Editor(), new Kernel()];
  await joined(editor, kernel).ready;
  vi.useFakeTimers();
  const box = field();
  editor.edit({ agent: "codex" });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(kernel.changes).toEqual([]);
  box.closest("div")?.remove();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(kernel.file).toEqual({ agent: "codex" });
  field().type = "checkbox";
  editor.edit({ agent: "eliza" });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(kernel.file).toEqual({ agent: "eliza" });
});

test("an empty list item is not written until it has a name", async () => {
  const [editor, kernel] = [new Editor({ warm: ["a"] }), new Kernel({ warm: ["a"] })];
  const { warnings, ready } = joined(editor, kernel);
  await ready;
  vi.useFakeTimers();
  editor.edit({ warm: ["a", ""] });
  await vi.advanceTimersByTimeAsync(60_000);
  expect([kernel.changes, editor.user, warnings]).toEqual([[], { warm: ["a", ""] }, []]);
  editor.edit({ warm: ["a", "b", " "] });
  await vi.advanceTimersByTimeAsync(60_000);
  expect([kernel.file, editor.user, warnings]).toEqual([{ warm: ["a", "b"] }, { warm: ["a", "b", " "] }, []]);
  kernel.write({ warm: ["c"] });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(editor.user).toEqual({ warm: ["c"] });
});

test("a value half-typed on opening is written after the field loses focus", async () => {
  const editor = new Editor({ agent: "claude" });
  const first = new Kernel({ agent: "claude" });
  await joined(editor, first).ready;
  first.end();
  vi.useFakeTimers();
  const box = field();
  editor.edit({ agent: "co" });
  const next = new Kernel({ agent: "claude" });
  await joined(editor, next).ready;
  await vi.advanceTimersByTimeAsync(60_000);
  expect([next.changes, editor.user]).toEqual([[], { agent: "co" }]);
  editor.edit({ agent: "codex" });
  box.blur();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(next.file).toEqual({ agent: "codex" });
});

test("file changes during typing survive when the form saves old values", async () => {
  const [editor, kernel] = [new Editor({ agent: "claude", cwd: "/a" }), new Kernel({ agent: "claude", cwd: "/a" })];
  await joined(editor, kernel).ready;
  vi.useFakeTimers();
  const box = field();
  for (const [index, agent] of ["c", "co", "cod"].entries()) {
    const file = { agent: "claude", cwd: `/b${index}`, warm: ["x"] };
    const stale = index ? { agent, cwd: `/b${index - 1}`, warm: ["x"] } : { agent, cwd: "/a", warm: [] };
    await typed(box, editor, stale, () => kernel.write(file));
    expect(editor.user).toEqual({ ...file, agent });
  }
  const last = { agent: "claude", cwd: "/d", warm: ["x"] };
  await typed(box, editor, { agent: "code", cwd: "/b2", warm: ["x"] }, () => {
    kernel.write(last);
    box.blur();
  });
  expect(editor.user).toEqual({ ...last, agent: "code" });
  expect(kernel.file).toEqual({ ...last, agent: "code" });
  expect(kernel.changes.map(({ name }) => name)).toEqual(["agent"]);
  await typed(box, editor, { agent: "code", cwd: "/b2", warm: ["x"] }, () => box.blur()); // the user leaves the field
  expect(kernel.file.cwd).toBe("/b2");
});

test("file changes survive a form save that the server stores late", async () => {
  const [editor, kernel] = [new Editor({ agent: "claude", cwd: "/a" }), new Kernel({ agent: "claude", cwd: "/a" })];
  await joined(editor, kernel).ready;
  vi.useFakeTimers();
  const box = field();
  box.dispatchEvent(new Event("input", { bubbles: true })); // sent after half a second, stored after two
  await vi.advanceTimersByTimeAsync(1_000);
  kernel.write({ agent: "claude", cwd: "/b" });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(editor.user.cwd).toBe("/b");
  editor.edit({ agent: "co", cwd: "/a" });
  box.blur();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(editor.user).toEqual({ agent: "co", cwd: "/b" });
  expect(kernel.file).toEqual({ agent: "co", cwd: "/b" });
});

test("a file change does not overwrite the field being typed in", async () => {
  const [editor, kernel] = [new Editor({ agent: "claude" }), new Kernel({ agent: "claude" })];
  await joined(editor, kernel).ready;
  vi.useFakeTimers();
  const box = field();
  box.id = "jp-SettingsEditor-agentnb:plugin_agent";
  await typed(box, editor, { agent: "claude" }, () => kernel.write({ agent: "codex" }));
  expect([editor.user, kernel.file]).toEqual([{ agent: "claude" }, { agent: "codex" }]);
});
