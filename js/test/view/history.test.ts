/** The history: found by menu and keyboard; listed, searched, previewed, opened, and deleted with undo. */

import { describe, expect, onTestFinished, test, vi } from "vitest";
import { checked, type RequestName } from "../../src/state/answers";
import { eventually } from "../eventually";
import { AGENT, MemoryStore, readyStore, SESSION, summary } from "./memory-store";
import { fetchModule } from "./modules";
import { fakeTimers, open, type Page, press } from "./page";

const TODAY = Date.now();
const DAY = 24 * 60 * 60 * 1000;

const kept = (id: string, more: object = {}) => ({
  uri: `eliza:/${id}`,
  agent: "eliza",
  title: `About ${id}`,
  cwd: "/home/me/work",
  place: "fit.ipynb",
  turns: 2,
  modifiedAt: TODAY,
  createdAt: TODAY,
  hostId: "host",
  ...more,
});

type Answers = Record<string, (params: Record<string, unknown>) => unknown>;

class HistoryStore extends MemoryStore {
  answers: Answers = {};
  readonly modules: string[] = [];
  override module = (name: string): Promise<{ default: unknown }> => {
    this.modules.push(name);
    return fetchModule(name);
  };

  constructor(answers: Answers = {}) {
    super();
    const ready = readyStore();
    this.root.value = ready.root.value;
    this.session(SESSION).value = ready.session(SESSION).value;
    this.chat(`${SESSION}/chat`).value = ready.chat(`${SESSION}/chat`).value;
    this.answers = { listSessions: () => ({ sessions: [kept("a"), kept("b")] }), ...answers };
    this.answer = async (method, params) => {
      const answer = (await this.answers[method]?.(params as Record<string, unknown>)) ?? {};
      return this.answers[method] ? checked(method as RequestName, answer) : answer;
    };
  }

  /** The requests of the history itself; the list of an empty conversation also requests more at once. */
  paramsOf(method: string): unknown[] {
    const params = this.requested.filter((one) => one.method === method).map((one) => one.params);
    return params.filter((one) => (one as { limit?: number }).limit !== 100);
  }
}

async function opened(store: HistoryStore): Promise<Page> {
  const page = open(store, { kind: "chat" });
  page.button("Conversation").click();
  await page.until(() => page.find("[role=menu]"));
  page
    .all("[role=menuitem]")
    .find((one) => one.textContent?.startsWith("History"))
    ?.click();
  await page.until(() => page.find(".history-list"));
  await page.until(() => expect(page.find(".history-list").getAttribute("aria-busy")).toBe("false"));
  return page;
}

const box = (page: Page) => page.find<HTMLInputElement>(".history input");
const mains = (page: Page) => page.all(".history-main");
const titles = (page: Page) => page.all(".history-title").map((one) => one.textContent);
const countText = (page: Page) => page.find(".history-count").textContent;

function search(page: Page, text: string): void {
  box(page).value = text;
  box(page).dispatchEvent(new InputEvent("input", { bubbles: true }));
}

/** Opens the filters if needed, and sets one. */
async function filter(page: Page, label: string, value: string): Promise<void> {
  const button = page.find<HTMLElement>(".history-filter");
  if (button.getAttribute("aria-expanded") === "false") button.click();
  await page.until(() => page.find(".history-filters"));
  choose(page, label, value);
}

/** Chooses an entry of the history's menu. */
async function task(page: Page, name: string): Promise<void> {
  page.button("More").click();
  await page.until(() => page.find(".history-head [role=menu]"));
  page
    .all(".history-head [role=menuitem]")
    .find((one) => one.textContent === name)
    ?.click();
}

function choose(page: Page, label: string, value: string): void {
  const select = page.find<HTMLSelectElement>(`select[aria-label="${label}"]`);
  select.value = value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
}

describe("the history", () => {
  test("opens from the menu with focus in the search box; Escape closes it", async () => {
    const page = await opened(new HistoryStore());
    expect([page.root.activeElement, page.all(".prompt")]).toEqual([box(page), []]);
    expect(titles(page)).toEqual(["About a", "About b"]);
    press(box(page), "Escape");
    await page.until(() => page.find(".prompt"));
    expect([page.root.activeElement?.getAttribute("aria-label"), page.all(".history")]).toEqual(["Conversation", []]);
  });

  test("opens and closes with Alt+H, and fetches its module once", async () => {
    const store = new HistoryStore();
    const page = open(store, { kind: "chat" });
    for (const _ of [1, 2]) {
      page.find(".prompt textarea").focus();
      expect(press(page.find(".prompt textarea"), "˙", { code: "KeyH", altKey: true })).toBe(true);
      await page.until(() => expect(titles(page)).toHaveLength(2));
      press(box(page), "h", { code: "KeyH", altKey: true });
      await page.until(() => expect(page.root.activeElement?.tagName).toBe("TEXTAREA"));
    }
    expect([store.modules, store.paramsOf("listSessions")]).toEqual([
      ["history"],
      [
        { here: true, limit: 50, offset: 0 },
        { here: true, limit: 50, offset: 0 },
      ],
    ]);
  });

  test("opens when no conversation is open", async () => {
    const store = new HistoryStore();
    store.root.value = { agents: [AGENT], sessions: [] };
    const page = open(store, { kind: "chat" });
    press(page.find(".prompt"), "h", { code: "KeyH", altKey: true });
    await page.until(() => expect(titles(page)).toEqual(["About a", "About b"]));
  });

  test("closes when a conversation tab is selected", async () => {
    const page = await opened(new HistoryStore());
    page.find("[role=tab]").click();
    await page.until(() => page.find(".prompt"));
    expect(page.all(".history")).toEqual([]);
  });

  test("shows why its module failed to load, and retries when reopened", async () => {
    const store = new HistoryStore();
    const load = store.module;
    store.module = () => Promise.reject(new Error("The front end has no module 'history'."));
    const page = open(store, { kind: "chat" });
    press(page.find(".prompt"), "h", { code: "KeyH", altKey: true });
    await page.until(() =>
      expect(page.text()).toContain("no module 'history'. If this keeps happening, update agentnb"),
    );
    press(page.find("[aria-label=History]"), "Escape");
    await page.until(() => page.find(".prompt"));
    store.module = load;
    press(page.find(".prompt"), "h", { code: "KeyH", altKey: true });
    await page.until(() => expect(titles(page)).toHaveLength(2));
  });
});

describe("the history list", () => {
  test("groups conversations by day, with agent, time, notebook and folder", async () => {
    const noon = new Date(2026, 5, 15, 12).getTime();
    vi.setSystemTime(noon); // no midnight and no change to summer time between the days
    onTestFinished(() => void vi.useRealTimers());
    const sessions = [
      kept("a", { turns: 1, modifiedAt: noon }),
      kept("b", { modifiedAt: noon - DAY }),
      kept("c", { modifiedAt: 0 }),
    ];
    const page = await opened(new HistoryStore({ listSessions: () => ({ sessions }) }));
    expect(page.all(".history h4").map((one) => one.textContent)).toEqual([
      "Today",
      "Yesterday",
      new Date(0).toLocaleDateString([], { weekday: "long", day: "numeric", month: "long", year: "numeric" }),
    ]);
    expect(mains(page)[0]?.textContent).toMatch(/^About aEliza · [\d:]+/);
    expect([countText(page), page.text().includes("/home/me/work")]).toEqual(["3 conversations", false]);
    await filter(page, "Where", "everywhere");
    await page.until(() => expect(mains(page)[0]?.textContent).toContain("· fit.ipynb · /home/me/work"));
  });

  test("filters by place and agent, and names them on the filter button", async () => {
    const sessions = [kept("a"), kept("b", { agent: "gone" })];
    const store = new HistoryStore({ listSessions: () => ({ sessions }) });
    const page = await opened(store);
    await filter(page, "Where", "folder");
    await page.until(() =>
      expect(store.paramsOf("listSessions").at(-1)).toEqual({ folder: true, limit: 50, offset: 0 }),
    );
    await filter(page, "Agent", "gone");
    await page.until(() =>
      expect(store.paramsOf("listSessions").at(-1)).toEqual({ folder: true, agent: "gone", limit: 50, offset: 0 }),
    );
    expect(page.find(".history-filter").textContent).toBe("This folder, gone");
    await filter(page, "Where", "everywhere");
    await page.until(() =>
      expect(store.paramsOf("listSessions").at(-1)).toEqual({ agent: "gone", limit: 50, offset: 0 }),
    );
  });

  test("loads the next page once, without duplicates, on Show more", async () => {
    const all = Array.from({ length: 70 }, (_, number) => kept(`${number}`));
    const store = new HistoryStore({
      listSessions: ({ offset }) => ({ sessions: all.slice(Number(offset) - (offset ? 1 : 0)).slice(0, 50) }),
    });
    const page = await opened(store);
    expect(countText(page)).toBe("The latest 50 conversations");
    page.button("Show more").click();
    page.find(".history-list").dispatchEvent(new Event("scroll"));
    await page.until(() => expect(countText(page)).toBe("70 conversations"));
    expect(store.paramsOf("listSessions").map((one) => (one as { offset: number }).offset)).toEqual([0, 50]);
    expect(new Set(titles(page)).size).toBe(70);
    expect(page.all(".history-more")).toEqual([]);
  });

  test("allows only a preview of conversations open in another kernel", async () => {
    const store = new HistoryStore({
      listSessions: () => ({ sessions: [kept("a")], elsewhere: ["eliza:/a"] }),
      previewSession: () => ({
        title: "x",
        total: 1,
        turns: [{ number: 0, turnId: "t", prompt: "Why?", answer: "So.", cut: false }],
      }),
    });
    const page = await opened(store);
    expect(mains(page)[0]?.textContent).toContain("open in another kernel");
    expect(page.all(".history-line button").map((one) => one.ariaLabel)).toEqual([null, "More: About a"]);
    press(mains(page)[0] as Element, "Delete");
    mains(page)[0]?.click();
    await page.until(() => expect(page.find(".history-preview").textContent).toBe("Why?So."));
    expect([store.paramsOf("resumeSession"), page.all("[data-undo]")]).toEqual([[], []]);
  });

  test.each([
    ["here", "No conversations in this notebook yet. A conversation appears here after its first turn."],
    ["everywhere", "No conversations anywhere yet. A conversation appears here after its first turn."],
  ])("shows where to look when there are no conversations (%s)", async (scope, words) => {
    const store = new HistoryStore({ listSessions: () => ({ sessions: [] }) });
    const page = await opened(store);
    await filter(page, "Where", scope);
    await page.until(() => expect(page.find(".history-empty").textContent?.startsWith(words)).toBe(true));
    const buttons = page.all(".history-empty button");
    expect(buttons.map((one) => one.textContent)).toEqual(scope === "here" ? ["Show all conversations"] : []);
    buttons[0]?.click();
    await page.until(() => expect(store.paramsOf("listSessions").at(-1)).toEqual({ limit: 50, offset: 0 }));
  });

  test("shows a damaged log and unsearched conversations with Search again", async () => {
    const note = "The log was <b>damaged</b>.";
    const store = new HistoryStore({ listSessions: () => ({ sessions: [kept("a")], note, left: 1200 }) });
    const page = await opened(store);
    expect(page.all(".history .note").map((one) => one.textContent)).toEqual([
      note,
      "1,200 older conversations not searched yet. Search again",
    ]);
    store.answers.listSessions = () => ({ sessions: [kept("a")] });
    page.button("Search again").click();
    await page.until(() => expect(page.all(".history .note")).toEqual([]));
  });

  test.each([
    ["a refusal", () => Promise.reject(new Error("The log cannot be read."))],
    ["nonsense", () => ({ sessions: 7 })],
    ["nothing", () => null],
  ])("shows why the request failed (%s), and offers Try again", async (_, answer) => {
    const store = new HistoryStore({ listSessions: answer });
    const page = await opened(store);
    expect(page.find(".history-empty").textContent).toMatch(/^Couldn't list the conversations: .+\.Try again$/);
    store.answers.listSessions = () => ({ sessions: [kept("a")] });
    page.button("Try again").click();
    await page.until(() => expect(titles(page)).toEqual(["About a"]));
  });
});

describe("a search", () => {
  test("is sent when typing pauses, and ignores outdated answers", async () => {
    const answers: Record<string, (answer: unknown) => void> = {};
    const store = new HistoryStore();
    const page = await opened(store);
    store.answers.listSessions = ({ search: text }) =>
      new Promise((resolve) => {
        answers[String(text)] = resolve;
      });
    for (const text of ["r", "re", "res"]) search(page, text);
    await page.until(() => expect(Object.keys(answers)).toEqual(["res"]));
    expect(countText(page)).toBe("Searching…");
    search(page, "resi");
    await page.until(() => expect(Object.keys(answers)).toEqual(["res", "resi"]));
    answers.resi?.({ sessions: [kept("new")] });
    await page.until(() => expect(titles(page)).toEqual(["About new"]));
    answers.res?.({ sessions: [kept("old")] });
    await page.until(() => expect(countText(page)).toBe("1 conversation found"));
    expect(titles(page)).toEqual(["About new"]);
  });

  test("shows hits and notes as plain text, never as HTML", async () => {
    const evil = "<img src=x onerror=alert(1)>";
    const hit = { number: 2, turnId: "t", where: "answer", before: `${evil} `, text: "<b>", after: " \u202eevil" };
    const store = new HistoryStore({
      listSessions: () => ({
        sessions: [kept("a", { title: `${evil}\u202e`, cwd: evil, place: evil, agent: evil })],
        hits: { "eliza:/a": [hit, { ...hit, where: "prompt" }] },
        note: evil,
      }),
      previewSession: () => ({
        title: evil,
        total: 9,
        turns: [{ number: 8, turnId: "t", prompt: evil, answer: evil, cut: true }],
      }),
    });
    const page = await opened(store);
    await filter(page, "Where", "everywhere");
    await page.until(() => expect(mains(page)[0]?.textContent).toContain(`· ${evil} · ${evil}`));
    press(mains(page)[0] as Element, "ArrowRight");
    await page.until(() => page.find(".history-turn"));
    expect(page.all(".history-hits li").map((one) => one.textContent)).toEqual([
      `Answer 3: ${evil} <b> ⟨U+202E⟩evil`,
      `Prompt 3: ${evil} <b> ⟨U+202E⟩evil`,
    ]);
    expect(page.all("mark").map((one) => one.innerHTML)).toEqual(["&lt;b&gt;", "&lt;b&gt;"]);
    expect(titles(page)).toEqual([`${evil}⟨U+202E⟩`]);
    expect(page.find(".history-preview").textContent).toMatch(/^The last 1 of 9 turns.*Shortened. Open/);
    expect(page.all(".history img")).toEqual([]);
  });

  test("shows the search text and Search everywhere when nothing is found", async () => {
    const store = new HistoryStore({ listSessions: ({ search: text }) => ({ sessions: text ? [] : [kept("a")] }) });
    const page = await opened(store);
    search(page, '100% "quoted" 🙂');
    await page.until(() => expect(countText(page)).toBe("Nothing found"));
    expect(page.find(".history-empty p").textContent).toBe('Nothing in this notebook contains “100% "quoted" 🙂”.');
    page.button("Search everywhere").click();
    await page.until(() =>
      expect(store.paramsOf("listSessions").at(-1)).toEqual({ search: '100% "quoted" 🙂', limit: 50, offset: 0 }),
    );
  });
});

describe("a conversation in the history", () => {
  test("is reached by arrow keys, and previewed without being opened", async () => {
    const turns = [{ number: 0, turnId: "t", prompt: "Why?", answer: "Because.", cut: false }];
    const store = new HistoryStore({ previewSession: () => ({ title: "", total: 1, turns }) });
    const page = await opened(store);
    const [first, second] = mains(page) as [HTMLElement, HTMLElement];
    const at = () => page.root.activeElement;
    press(box(page), "ArrowDown");
    expect(at()).toBe(first);
    press(first, "ArrowDown");
    press(second, "ArrowDown");
    expect(at()).toBe(second);
    await page.until(() => expect([first.tabIndex, second.tabIndex]).toEqual([-1, 0]));
    press(second, "Home");
    expect(at()).toBe(first);
    press(first, "End");
    expect(at()).toBe(second);
    press(second, "ArrowRight");
    await page.until(() => expect(page.find(".history-preview").textContent).toBe("Why?Because."));
    expect(store.paramsOf("previewSession")).toEqual([{ channel: "eliza:/b" }]);
    press(second, "ArrowLeft");
    await page.until(() => expect(page.all(".history-preview")).toEqual([]));
    press(second, "ArrowUp");
    press(first, "ArrowUp");
    expect([at(), store.paramsOf("resumeSession")]).toEqual([box(page), []]);
  });

  test("shows why its preview failed", async () => {
    const store = new HistoryStore({ previewSession: () => Promise.reject(new Error("It was deleted.")) });
    const page = await opened(store);
    press(mains(page)[0] as Element, "ArrowRight");
    await page.until(() => expect(page.find(".history-trouble").textContent).toBe("Couldn't be read: It was deleted."));
  });

  test("opens on click, and its tab becomes active", async () => {
    const store = new HistoryStore();
    const page = await opened(store);
    store.root.value = { agents: [AGENT], sessions: [summary("eliza:/a", "About a"), summary(SESSION)] };
    await page.until(() => expect(mains(page)[0]?.textContent).toContain("· open"));
    store.root.value = { agents: [AGENT], sessions: [summary(SESSION)] };
    await page.until(() => expect(mains(page)[0]?.title).toBe("Open"));
    mains(page)[0]?.click();
    await page.until(() => expect(store.paramsOf("resumeSession")).toEqual([{ channel: "eliza:/a" }]));
    store.root.value = { agents: [AGENT], sessions: [summary("eliza:/a", "About a"), summary(SESSION)] };
    await page.until(() => expect(page.find("[aria-selected=true]").textContent).toContain("About a"));
    expect(page.all(".history")).toEqual([]);
  });

  test("selects its existing tab when it is already open here", async () => {
    const store = new HistoryStore({ listSessions: () => ({ sessions: [kept("a"), kept("one")] }) });
    store.root.value = { agents: [AGENT], sessions: [summary(SESSION, "One"), summary("eliza:/z", "Z")] };
    const page = await opened(store);
    press(mains(page)[1] as Element, "Delete");
    expect(page.all("[data-undo]")).toEqual([]);
    mains(page)[1]?.click();
    await page.until(() => expect(page.find("[aria-selected=true]").textContent).toContain("One"));
    expect(store.paramsOf("resumeSession")).toEqual([]);
  });

  test("shows why it cannot be opened, and leaves the others enabled", async () => {
    const store = new HistoryStore({ resumeSession: () => Promise.reject(new Error("The log has no such session.")) });
    const page = await opened(store);
    mains(page)[0]?.click();
    await page.until(() =>
      expect(page.find(".history-trouble").textContent).toBe("Couldn't be opened: The log has no such session."),
    );
    expect((mains(page)[1] as HTMLButtonElement).disabled).toBe(false);
  });
});

/** Chooses an entry of the menu of the conversation with this title. */
async function more(page: Page, title: string, name: string): Promise<void> {
  page.button(`More: ${title}`).click();
  await page.until(() => page.find(".history [role=menu]"));
  const items = page.all(".history [role=menuitem]");
  items.find((one) => one.querySelector(".menu-name")?.textContent === name)?.click();
}

describe("a conversation's menu", () => {
  test("renames the conversation and reloads the list", async () => {
    const names = new Map([["a", "About a"]]);
    const store = new HistoryStore({
      listSessions: () => ({ sessions: [...names].map(([id, title]) => kept(id, { title })) }),
      updateSession: ({ title }) => void names.set("a", String(title)),
    });
    const page = await opened(store);
    press(mains(page)[0] as Element, "F2");
    await page.until(() => page.find(".history-ask input"));
    press(page.find(".history-ask input"), "Escape");
    await page.until(() => expect(page.all(".history-ask")).toEqual([]));
    await more(page, "About a", "Rename");
    await page.until(() => expect(page.root.activeElement?.tagName).toBe("INPUT"));
    const name = page.find<HTMLInputElement>(".history-ask input");
    expect(name.value).toBe("About a");
    name.value = "  Fit ";
    page.find(".history-ask").dispatchEvent(new SubmitEvent("submit", { bubbles: true, cancelable: true }));
    await page.until(() => expect(titles(page)).toEqual(["Fit"]));
    expect(store.paramsOf("updateSession")).toEqual([{ channel: "eliza:/a", title: "Fit" }]);
    expect(page.text()).toContain("Fit is renamed.");
  });

  test.each([
    ["Pin", {}, { pinned: true }],
    ["Unpin", { pinned: true }, { pinned: false }],
    ["Archive", {}, { archived: true }],
    ["Unarchive", { archived: true }, { archived: false }],
  ])("sends the change for %s and reloads the list", async (name, marks, change) => {
    const store = new HistoryStore({ listSessions: () => ({ sessions: [kept("a", marks)] }) });
    const page = await opened(store);
    const before = store.paramsOf("listSessions").length;
    await more(page, "About a", name);
    await page.until(() => expect(store.paramsOf("listSessions")).toHaveLength(before + 1));
    expect(store.paramsOf("updateSession")).toEqual([{ channel: "eliza:/a", ...change }]);
  });

  test("shows why Pin failed, and Duplicate duplicates the conversation", async () => {
    const store = new HistoryStore({ updateSession: () => Promise.reject(new Error("The disk is full.")) });
    const page = await opened(store);
    await more(page, "About b", "Pin");
    await page.until(() =>
      expect(page.find(".history-trouble").textContent).toBe("Couldn't be pinned: The disk is full."),
    );
    await more(page, "About b", "Duplicate");
    await page.until(() => expect(store.paramsOf("duplicateSession")).toEqual([{ channel: "eliza:/b" }]));
  });

  test("downloads the conversation with Export as Markdown", async () => {
    const store = new HistoryStore({ exportSession: () => ({ text: "# About a" }) });
    const page = await opened(store);
    const kept: [string, Promise<string>][] = [];
    const click = vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
      kept.push([this.download, Promise.resolve(this.href)]);
    });
    vi.stubGlobal("URL", Object.assign(URL, { createObjectURL: () => "blob:1", revokeObjectURL: () => undefined }));
    await more(page, "About a", "Export as Markdown");
    await page.until(() => expect(kept.map(([name]) => name)).toEqual(["About-a.md"]));
    expect(store.paramsOf("exportSession")).toEqual([{ channel: "eliza:/a", form: "md" }]);
    click.mockRestore();
    vi.unstubAllGlobals();
  });
});

describe("several selected conversations", () => {
  async function select(page: Page, ...names: string[]): Promise<void> {
    await task(page, "Select");
    await page.until(() => page.find("[type=checkbox]"));
    for (const name of names) page.find<HTMLInputElement>(`[aria-label="Select ${name}"]`).click();
    await page.until(() => expect(page.text()).toContain(`${names.length} selected`));
  }

  test("are deleted one by one with progress; one undo restores them all", async () => {
    const ends: (() => void)[] = [];
    const store = new HistoryStore({
      listSessions: () => ({ sessions: [kept("a"), kept("b"), kept("c")] }),
      deleteSession: () => new Promise<void>((done) => ends.push(done)),
    });
    const page = await opened(store);
    fakeTimers(); // undo is possible for ten seconds
    await select(page, "About a", "About c");
    page.find(".danger").click();
    await page.until(() => expect(titles(page)).toEqual(["About b"]));
    page.button("Undo: keep 2 conversations").click();
    await page.until(() => expect(titles(page)).toHaveLength(3));
    await select(page, "About a", "About c");
    page.find(".danger").click();
    await page.until(() => page.find("[data-undo]"));
    vi.advanceTimersByTime(11_000);
    await page.until(() => expect(page.text()).toContain("Deleted 0 of 2 conversations"));
    expect(store.paramsOf("deleteSession")).toEqual([{ channel: "eliza:/a" }]);
    ends[0]?.();
    await page.until(() => expect(page.text()).toContain("Deleted 1 of 2 conversations"));
    expect(store.paramsOf("deleteSession")).toEqual([{ channel: "eliza:/a" }, { channel: "eliza:/c" }]);
    ends[1]?.();
    await page.until(() => expect(page.all("progress")).toEqual([]));
  });

  test("are all deleted at once when the page closes", async () => {
    const store = new HistoryStore({ deleteSession: () => new Promise(() => undefined) });
    const page = await opened(store);
    await select(page, "About a", "About b");
    fakeTimers();
    page.find(".danger").click();
    await page.until(() => page.find("[data-undo]"));
    vi.advanceTimersByTime(11_000);
    await page.until(() => expect(store.paramsOf("deleteSession")).toHaveLength(1));
    window.dispatchEvent(new Event("pagehide"));
    expect(store.paramsOf("deleteSession")).toEqual([{ channel: "eliza:/a" }, { channel: "eliza:/b" }]);
  });

  test("are archived together; open conversations cannot be selected", async () => {
    const store = new HistoryStore({ listSessions: () => ({ sessions: [kept("a"), kept("b"), kept("one")] }) });
    store.root.value = { agents: [AGENT], sessions: [summary("eliza:/one", "One")] };
    const page = await opened(store);
    await task(page, "Select");
    await page.until(() => page.find("[type=checkbox]"));
    expect(page.find<HTMLInputElement>('[aria-label="Select About one"]').disabled).toBe(true);
    page.button("Select all").click();
    await page.until(() => expect(page.text()).toContain("2 selected"));
    page.button("Archive").click();
    await page.until(() =>
      expect(store.paramsOf("updateSession")).toEqual([
        { channel: "eliza:/a", archived: true },
        { channel: "eliza:/b", archived: true },
      ]),
    );
  });
});

describe("changes made elsewhere", () => {
  test("update the list while the history is shown", async () => {
    const there = [kept("a")];
    const store = new HistoryStore({ listSessions: () => ({ sessions: there }) });
    const page = await opened(store);
    expect(store.paramsOf("watchSessions")).toEqual([{ on: true }]);
    there.unshift(kept("b"));
    store.sessionsChanged.value = { added: ["eliza:/b"], removed: [], changed: [] };
    await page.until(() => expect(titles(page)).toEqual(["About b", "About a"]));
    there.splice(0);
    store.sessionsChanged.value = { added: [], removed: ["eliza:/a", "eliza:/b"], changed: [] };
    await page.until(() => expect(titles(page)).toEqual([]));
    press(box(page), "Escape");
    await page.until(() => expect(store.paramsOf("watchSessions")).toEqual([{ on: true }, { on: false }]));
  });
});

describe("an agent's own conversations", () => {
  test("load on click, page by page, and can be opened", async () => {
    const pages: Record<string, unknown>[] = [
      {
        sessions: [{ id: "s1", title: "<b>Talk</b>", cwd: "/work", modifiedAt: TODAY }],
        cursor: "2",
      },
      { sessions: [{ id: "s2", title: "", cwd: "" }] },
    ];
    const store = new HistoryStore({
      listAgentSessions: ({ cursor }) => pages[cursor ? 1 : 0],
      openAgentSession: () => ({ channel: "eliza:/own", chat: "eliza:/own/chat" }),
    });
    const page = await opened(store);
    expect(store.paramsOf("listAgentSessions")).toEqual([]);
    page.button("Show what Eliza keeps itself").click();
    await page.until(() =>
      expect(page.all(".history-own .history-title").map((one) => one.textContent)).toEqual(["<b>Talk</b>"]),
    );
    page.button("Show more").click();
    await page.until(() => expect(page.all(".history-own")).toHaveLength(2));
    expect(store.paramsOf("listAgentSessions")).toEqual([{ agent: "eliza" }, { agent: "eliza", cursor: "2" }]);
    page.button("Open <b>Talk</b>").click();
    await page.until(() => expect(page.all(".history")).toEqual([]));
    expect(store.paramsOf("openAgentSession")).toEqual([
      { agent: "eliza", id: "s1", cwd: "/work", title: "<b>Talk</b>" },
    ]);
  });

  test("show why listing failed, and can be requested again", async () => {
    const store = new HistoryStore({
      listAgentSessions: () => Promise.reject(new Error("Eliza doesn't list its sessions.")),
    });
    const page = await opened(store);
    page.button("Show what Eliza keeps itself").click();
    await page.until(() => expect(page.find(".history-trouble").textContent).toBe("Eliza doesn't list its sessions."));
    expect(page.button("Show what Eliza keeps itself").disabled).toBe(false);
  });
});

describe("the storage page", () => {
  const rows = [
    { what: "kind", name: "conversations", bytes: 3 * 1024 ** 2, items: 4 },
    { what: "agent", name: "eliza", bytes: 900, items: 4 },
    { what: "folder", name: "/home/me/\u202ework", bytes: 900, items: 4 },
  ];

  async function openStorage(answers: Answers): Promise<[HistoryStore, Page]> {
    const store = new HistoryStore({ measureStorage: () => ({ path: "/data/sessions.db", rows }), ...answers });
    const page = await opened(store);
    await task(page, "Storage");
    await page.until(() => expect(page.find(".history-list").textContent).toContain("3 MB on disk."));
    return [store, page];
  }

  test("shows sizes and item counts, and Escape returns to the list", async () => {
    const [, page] = await openStorage({});
    expect(page.all(".history-sizes td").map((one) => one.textContent)).toEqual([
      ...["conversations", "3 MB", "4", "eliza", "900 bytes", "4", "/home/me/⟨U+202E⟩work", "900 bytes", "4"],
    ]);
    press(page.button("Back to the conversations"), "Escape");
    await page.until(() => expect(titles(page)).toEqual(["About a", "About b"]));
  });

  test("deletes after showing the count, and measures sizes again", async () => {
    const [store, page] = await openStorage({
      changeStorage: ({ dryRun }) => ({ message: `2 conversations ${dryRun ? "would be " : ""}deleted.`, count: 2 }),
    });
    page.button("Delete…").click();
    const words = "2 conversations would be deleted. Their undo history is deleted too. This can't be undone.";
    await page.until(() => expect(page.text()).toContain(words));
    page.find(".danger").click();
    await page.until(() => expect(page.find("[role=status].small").textContent).toBe("2 conversations deleted."));
    expect(store.paramsOf("changeStorage")).toEqual([
      { action: "remove", olderThanDays: 90, dryRun: true },
      { action: "remove", olderThanDays: 90, dryRun: false },
    ]);
    await page.until(() => expect(store.paramsOf("measureStorage")).toHaveLength(2));
  });

  test("shows the result of Check, and why Compact failed", async () => {
    const [, page] = await openStorage({
      changeStorage: ({ action }) =>
        action === "check"
          ? { message: "Page 7 is never used. In a terminal: agentnb storage --repair", count: 0 }
          : Promise.reject(new Error("The disk is full.")),
    });
    page.button("Check").click();
    await page.until(() => expect(page.text()).toContain("Page 7 is never used."));
    page.button("Compact").click();
    await page.until(() => expect(page.find(".history-trouble").textContent).toBe("The disk is full."));
  });

  test("repairs, exports and imports, and deletes the oldest beyond a size", async () => {
    const [store, page] = await openStorage({
      changeStorage: ({ action }) => ({ message: `${action} done.`, count: 3 }),
    });
    for (const [button, action] of [
      ["Repair", "repair"],
      ["Export all", "export"],
      ["Import", "import"],
    ] as const) {
      page.button(button).click();
      await page.until(() => expect(page.find("[role=status].small").textContent).toBe(`${action} done.`));
      // Its sizes are measured again.
      await page.until(() => expect(page.find(".history-list").getAttribute("aria-busy")).toBe("false"));
    }
    choose(page, "Keep the newest", "10G");
    await page.until(() => expect(page.find<HTMLSelectElement>("[aria-label='Keep the newest']").value).toBe("10G"));
    page.button("Delete the rest…").click();
    await page.until(() => expect(page.text()).toContain("This can't be undone."));
    expect(store.paramsOf("changeStorage")).toEqual([
      { action: "repair" },
      { action: "export", path: "~/agentnb-conversations.db" },
      { action: "import", path: "~/agentnb-conversations.db" },
      { action: "remove", largerThan: "10G", dryRun: true },
    ]);
  });
});

describe("the filters", () => {
  test("narrow the list by time and state; Clear filters removes them", async () => {
    const store = new HistoryStore({
      listSessions: ({ state, archived }) => ({ sessions: state || archived ? [] : [kept("a")] }),
    });
    const page = await opened(store);
    await filter(page, "State", "failed");
    await page.until(() => expect(page.find(".history-empty").textContent).toContain("with these filters"));
    await filter(page, "State", "archived");
    await page.until(() => expect(store.paramsOf("listSessions").at(-1)).toHaveProperty("archived"));
    await filter(page, "When", "7");
    await page.until(() => expect(store.paramsOf("listSessions").at(-1)).toHaveProperty("since"));
    const { since, ...others } = store.paramsOf("listSessions").at(-1) as { since: number };
    expect([others, new Date(since).getHours(), Math.round((TODAY - since) / DAY) <= 7]).toEqual([
      { here: true, archived: true, limit: 50, offset: 0 },
      0,
      true,
    ]);
    page.button("Clear filters").click();
    await page.until(() => expect(titles(page)).toEqual(["About a"]));
  });

  test("keep pinned conversations above the days", async () => {
    vi.setSystemTime(TODAY);
    onTestFinished(() => void vi.useRealTimers());
    const sessions = [kept("a", { pinned: true, modifiedAt: 0 }), kept("b")];
    const page = await opened(new HistoryStore({ listSessions: () => ({ sessions }) }));
    expect(page.all(".history h4").map((one) => one.textContent)).toEqual(["Pinned", "Today"]);
  });
});

describe("a deletion", () => {
  /** Deletes the first conversation by keyboard. */
  async function remove(page: Page): Promise<void> {
    const before = page.all("[data-undo]").length;
    press(mains(page)[0] as Element, "Delete");
    await page.until(() => expect(page.all("[data-undo]")).toHaveLength(before + 1));
  }

  test("offers undo instead of confirmation, also from the menu", async () => {
    const store = new HistoryStore();
    const page = await opened(store);
    fakeTimers(); // undo is possible for ten seconds
    await more(page, "About a", "Delete");
    await page.until(() => page.find("[data-undo]"));
    expect([titles(page), store.paramsOf("deleteSession")]).toEqual([["About b"], []]);
  });

  test("is sent after ten seconds, when undo ends", async () => {
    const store = new HistoryStore();
    const page = await opened(store);
    fakeTimers();
    await remove(page);
    expect([titles(page), page.root.activeElement]).toEqual([["About b"], mains(page)[0]]);
    expect(page.text()).toContain("Deleted About a and its undo history. You can undo this for ten seconds.");
    vi.advanceTimersByTime(9_000);
    expect(store.paramsOf("deleteSession")).toEqual([]);
    page.find("[data-undo]").focus();
    vi.advanceTimersByTime(2_000);
    await page.until(() => expect(page.all("[data-undo]")).toEqual([]));
    expect([store.paramsOf("deleteSession"), titles(page)]).toEqual([[{ channel: "eliza:/a" }], ["About b"]]);
    expect(page.root.activeElement).toBe(box(page));
  });

  test("is not sent when undone", async () => {
    const store = new HistoryStore();
    const page = await opened(store);
    fakeTimers(); // undo is possible for ten seconds
    await remove(page);
    page.button("Undo: keep About a").click();
    await page.until(() => expect(titles(page)).toEqual(["About a", "About b"]));
    press(box(page), "Escape");
    await page.until(() => page.find(".prompt"));
    expect(store.paramsOf("deleteSession")).toEqual([]);
  });

  test.each([
    ["the panel is closed", (page: Page) => void press(box(page), "Escape")],
    ["the page closes", () => void window.dispatchEvent(new Event("pagehide"))],
    ["the view is removed", (page: Page) => page.unmount()],
  ])("is sent when %s", async (_, leave) => {
    const store = new HistoryStore();
    const page = await opened(store);
    await remove(page);
    leave(page);
    await eventually(() => expect(store.paramsOf("deleteSession")).toEqual([{ channel: "eliza:/a" }]));
  });

  test("restores the conversation and shows why when the kernel refuses", async () => {
    const why = "The session 'About a' is open in another kernel.";
    const store = new HistoryStore({ deleteSession: () => Promise.reject(new Error(why)) });
    const page = await opened(store);
    await remove(page);
    window.dispatchEvent(new Event("pagehide"));
    await page.until(() => expect(titles(page)).toEqual(["About a", "About b"]));
    expect(page.find(".history-trouble").textContent).toBe(`Couldn't be deleted: ${why}`);
    expect(page.text()).toContain(`About a couldn't be deleted: ${why}`);
  });

  test("can be undone individually, and paging skips no conversation", async () => {
    const all = Array.from({ length: 60 }, (_, number) => kept(`${number}`));
    const gone = new Set<unknown>();
    const store = new HistoryStore({
      listSessions: ({ offset }) => {
        const from = Number(offset);
        return { sessions: all.filter(({ uri }) => !gone.has(uri)).slice(from, from + 50) };
      },
      deleteSession: ({ channel }) => void gone.add(channel),
    });
    const page = await opened(store);
    fakeTimers(); // undo is possible for ten seconds each
    await remove(page);
    await remove(page);
    await page.until(() => expect(page.all("[data-undo]")).toHaveLength(2));
    page.button("Undo: keep About 0").click();
    await page.until(() => expect(titles(page)[0]).toBe("About 0"));
    window.dispatchEvent(new Event("pagehide"));
    await page.until(() => expect([...gone]).toEqual(["eliza:/1"]));
    page.button("Show more").click();
    await page.until(() => expect(titles(page)).toHaveLength(59));
  });
});
