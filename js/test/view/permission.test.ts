import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ConfirmationOption } from "../../src/state/types.gen";
import { followProposals } from "../../src/view/cell-proposals";
import { INERT_FOR } from "../../src/view/permission-answer";
import { worstOf } from "../../src/view/plain";
import type { CellProposal, NotebookActions } from "../../src/view/store";
import { CHAT, type MemoryStore, readyStore, SESSION, startTurn } from "./memory-store";
import { fakeTimers, open, type Page, press, type } from "./page";

const OPTIONS: ConfirmationOption[] = [
  { id: "once", label: "Allow once", kind: "approve", optionKind: "allow_once" },
  { id: "always", label: "Always allow", kind: "approve", optionKind: "allow_always" },
  { id: "no", label: "Reject", kind: "deny", optionKind: "reject_once" },
];

function ask(store: MemoryStore, options: ConfirmationOption[] | undefined = OPTIONS): void {
  const call = { turnId: "t1", toolCallId: "c1" };
  const details = { kind: "execute", locations: [{ path: "/work/data.csv" }] };
  store.apply(CHAT, {
    type: "chat/toolCallStart",
    ...call,
    toolName: "execute",
    displayName: "Delete the data",
    details,
  });
  store.apply(CHAT, {
    type: "chat/toolCallReady",
    ...call,
    invocationMessage: "Delete the data",
    toolInput: "rm data.csv",
    ...(options ? { options } : {}),
  });
}

async function openPermission(options?: ConfirmationOption[]): Promise<{ store: MemoryStore; page: Page }> {
  const store = readyStore();
  const page = open(store, { kind: "chat" });
  startTurn(store, "t1", "Tidy up");
  ask(store, options);
  await page.until(() => page.find(".permission"));
  return { store, page };
}

async function armed(page: Page): Promise<void> {
  await page.until(() => expect(page.all(".permission-options [aria-disabled=true]")).toEqual([]));
}

const WIDER: ConfirmationOption[] = [
  { id: "allow", label: "Allow", kind: "approve", optionKind: "allow_once" },
  { id: "reject", label: "Reject", kind: "deny", optionKind: "reject_once" },
  { id: "agentnb:turn", label: "Any edit, this turn", kind: "approve", group: 1, optionKind: "allow_turn" },
  { id: "agentnb:always", label: "Any edit, until I revoke it", kind: "approve", group: 1, optionKind: "allow_always" },
];

function askAlike(store: MemoryStore, id: string, more: Record<string, unknown> = {}): void {
  const call = { turnId: "t1", toolCallId: id };
  const details = more.details ? { details: more.details } : {};
  store.apply(CHAT, { type: "chat/toolCallStart", ...call, toolName: "edit", displayName: `Write ${id}`, ...details });
  store.apply(CHAT, {
    type: "chat/toolCallReady",
    ...call,
    invocationMessage: `Write ${id}`,
    options: WIDER,
    risk: { severity: "medium", reason: "Changes a file.", like: "edits" },
    ...more,
  });
}

/** The answer buttons. */
const answers = (page: Page) => page.all(".permission-options .button:not(.more)");

/** Opens the card's menu; returns its names. */
async function moreOptions(page: Page, card = 0): Promise<(string | null)[]> {
  const button = page.all(".permission .more")[card] as HTMLElement;
  if (button.ariaExpanded !== "true") button.click();
  await page.until(() => page.find("[role=menuitem]"));
  await page.until(() => expect(page.all("[role=menuitem][aria-disabled=true]")).toEqual([]));
  return page.all("[role=menuitem] .menu-name").map((one) => one.textContent);
}

async function askedAll(...asks: [string, Record<string, unknown>?][]): Promise<{ store: MemoryStore; page: Page }> {
  const store = readyStore();
  const page = open(store, { kind: "chat" });
  startTurn(store, "t1", "Tidy up");
  for (const [id, more] of asks) askAlike(store, id, more);
  await page.until(() => expect(page.all(".permission").length).toEqual(asks.length));
  return { store, page };
}

describe("who answered", () => {
  const NO = { approved: false, reason: "denied", selectedOptionId: "no" };

  test.each([
    [{ ...NO, answeredBy: { kind: "client", clientId: "me" } }, "You denied this"],
    [{ ...NO, answeredBy: { kind: "client", clientId: "11111111" } }, "You denied this"],
    [{ ...NO, answeredBy: { kind: "client", clientId: "remote:phone:x:1", name: "phone" } }, "Denied by phone"],
    [{ ...NO, answeredBy: { kind: "python" } }, "Denied by Python code"],
    [{ ...NO, answeredBy: { kind: "rule" }, reasonMessage: "denied by a rule" }, "Denied by a ruledenied by a rule"],
    [{ ...NO, answeredBy: { kind: "nobody" } }, "Denied automatically: no one could be asked"],
    [{ ...NO, answeredBy: { kind: "somebodyNew" } }, "Denied"],
    [{ approved: false, reason: "skipped", answeredBy: { kind: "cancelled" } }, "Not answered: the turn ended first"],
    [
      { approved: false, reason: "skipped", answeredBy: { kind: "withdrawn" } },
      "Not answered: the agent withdrew its request",
    ],
    [{ approved: true, selectedOptionId: "once", answeredBy: { kind: "answer" } }, "Allowed by an earlier answer"],
    [{ approved: true, answeredBy: { kind: "mode" } }, "Allowed by the permissions setting"],
    [{ approved: true, answeredBy: { kind: "preview" } }, "Allowed at once: its preview was harmless"],
    [{ approved: true, answeredBy: { kind: "review" } }, "Allowed: you review cell edits afterwards"],
    [{ approved: true, answeredBy: { kind: "bypass" } }, "Allowed by your policy file: this agent doesn't need to ask"],
    [{ approved: true, answeredBy: { kind: "headless" } }, "Allowed by a setting: no one could be asked"],
    [{ approved: true, answeredBy: { kind: "reading" } }, "Allowed: reading in the workspace needs no permission"],
  ])("is shown in words for %j", async (answer, sentences) => {
    const { store, page } = await openPermission();
    const turn = open(store, { kind: "turn", channel: CHAT, turnId: "t1" });
    store.apply(CHAT, { type: "chat/toolCallConfirmed", turnId: "t1", toolCallId: "c1", ...answer });
    const words = (view: Page) => view.all(".tool .state-text, .decision").map((one) => one.textContent?.trim());
    for (const view of [page, turn])
      await view.until(() =>
        expect(
          words(view)
            .join("")
            .replace(/^Stopped(?=Not)/, ""),
        ).toEqual(sentences),
      );
  });

  test("a call that ran without asking under Deny is marked in chat and turn", async () => {
    const { store, page } = await openPermission();
    const turn = open(store, { kind: "turn", channel: CHAT, turnId: "t1" });
    store.apply(CHAT, { type: "chat/toolCallConfirmed", turnId: "t1", toolCallId: "c1", approved: true });
    await page.until(() => page.find(".decision"));
    expect(page.all(".unasked")).toEqual([]);
    const details = { ranWithoutAsking: true };
    store.apply(CHAT, { type: "x-agentnb/toolCallDetailsChanged", turnId: "t1", toolCallId: "c1", details });
    for (const view of [page, turn])
      await view.until(() => expect(view.find(".unasked").textContent).toEqual("Ran without asking"));
  });
});

describe("the policy on a permission card", () => {
  test("shows the worst reason, and all reasons on hover and when opened", async () => {
    const reason = "Deletes folders. Sends data to example.org. Runs code.";
    const { page } = await askedAll(["a", { risk: { severity: "critical", reason }, toolInput: "rm -r x" }]);
    expect(page.find(".permission-head").textContent).toEqual("critical: Deletes folders.");
    expect(page.find(".permission-head").title).toEqual(reason);
    page.find(".permission-what").click();
    await page.until(() => expect(page.find(".permission-reasons").textContent).toEqual(reason));
  });

  test.each([
    ["Deletes folders.", "Deletes folders."],
    ["Writes to a.b.txt. Runs code.", "Writes to a.b.txt."],
    ["no full stop", "no full stop"],
    ["Deletes e.g. a file. Runs.", "Deletes e.g. a file."],
    ["", ""],
  ])("takes from the reasons %j the worst one, %j", (reason, worst) => expect(worstOf(reason)).toBe(worst));

  test("shows the whole command, also before its terminal exists", async () => {
    const command = `for f in *; do echo "${"x".repeat(300)}"; done; rm -r data`;
    const { store, page } = await askedAll(["a", { toolInput: command }]);
    const details = { kind: "execute", content: [{ type: "terminal", terminalId: "t" }] } as const;
    store.apply(CHAT, { type: "x-agentnb/toolCallDetailsChanged", turnId: "t1", toolCallId: "a", details });
    await page.until(() => expect(page.find(".permission-what code").textContent).toContain("$ for f in"));
    expect(page.all(".permission .command-box"), "folded: one line").toEqual([]);
    page.find(".permission-what").click();
    await page.until(() => page.find(".permission .command-box"));
    expect(page.find(".permission .command-box").textContent).toContain(command);
    expect(page.text()).not.toContain("no longer available");
    store.apply(CHAT, { type: "chat/toolCallConfirmed", turnId: "t1", toolCallId: "a", approved: true });
    await page.until(() => expect(page.all(".permission")).toEqual([]));
    await page.until(() => expect(page.find(".tool .command-box").textContent).toContain(command));
    const result = { success: true, pastTenseMessage: "" };
    store.apply(CHAT, { type: "chat/toolCallComplete", turnId: "t1", toolCallId: "a", result });
    await page.until(() => expect(page.find(".tool .state").textContent).toEqual("Done"));
    page.find(".tool .fold-head").click();
    await page.until(() => expect(page.text()).toContain("no longer available"));
  });

  test("shows a file change line by line before the answer", async () => {
    const content = [{ type: "diff", path: "/work/fit.py", oldText: "a\nb\n", newText: "a\nB\n" } as const];
    const { store, page } = await askedAll(["a"]);
    store.apply(CHAT, {
      type: "x-agentnb/toolCallDetailsChanged",
      turnId: "t1",
      toolCallId: "a",
      details: { content },
    });
    await page.until(() =>
      expect(page.find(".permission .diff-count").textContent).toContain("1 line added, 1 removed"),
    );
    page.find(".permission-what").click();
    await page.until(() => page.find(".permission .diff"));
    expect(page.all(".permission .line.removed .text").map((text) => text.textContent)).toEqual(["b"]);
    expect(page.all(".permission .line.added .text").map((text) => text.textContent)).toEqual(["B"]);
  });

  test("shows the title once when the agent formats a name in it as code", async () => {
    const { page } = await askedAll(["`b`", { confirmationTitle: "Write b" }]);
    expect(page.find(".permission-what").textContent).toEqual("Write b");
    expect(page.all(".permission-what[aria-expanded]"), "nothing more to show").toEqual([]);
    const other = await askedAll(["c", { confirmationTitle: "Tidy up?" }]);
    other.page.find(".permission-what").click();
    await other.page.until(() => expect(other.page.find(".permission-why").textContent).toEqual("Tidy up?"));
  });

  test("offers wider answers in one menu, and sends them by id", async () => {
    const { store, page } = await askedAll(["a"]);
    expect(answers(page).map((one) => one.textContent)).toEqual(["Allow", "Reject"]);
    await armed(page);
    expect(await moreOptions(page)).toEqual(["Any edit, until I revoke it", "Any edit, this turn"]);
    page.button("Any edit, this turn").click();
    expect(store.dispatched[0]?.action).toMatchObject({ approved: true, selectedOptionId: "agentnb:turn" });
    await page.until(() => expect(page.find(".decision.allowed").textContent).toEqual("Allowed Any edit, this turn"));
    expect(page.find(".decision.allowed").children, "one text beside the icon: it breaks as a text").toHaveLength(2);
  });

  test("sends an edited command with Allow when the host runs it", async () => {
    const { store, page } = await askedAll(["a", { editable: true, toolInput: "ls -l" }]);
    await armed(page);
    await moreOptions(page);
    page.button("Edit the command…").click();
    await page.until(() => page.find(".permission-edit"));
    const box = page.find<HTMLTextAreaElement>(".permission-edit");
    expect(box.value).toEqual("ls -l");
    expect(box.getAttribute("aria-label")).toEqual("The command to run instead");
    type(box, "ls -la");
    await armed(page);
    page.button("Allow").click();
    expect(store.dispatched[0]?.action).toMatchObject({ selectedOptionId: "allow", editedToolInput: "ls -la" });
  });

  test("does not send an edited command with Reject", async () => {
    const { store, page } = await askedAll(["a", { editable: true, toolInput: "ls -l" }]);
    await armed(page);
    await moreOptions(page);
    page.button("Edit the command…").click();
    await page.until(() => page.find(".permission-edit"));
    type(page.find<HTMLTextAreaElement>(".permission-edit"), "ls -la");
    await armed(page);
    page.button("Reject").click();
    expect(store.dispatched[0]?.action).not.toHaveProperty("editedToolInput");
  });

  test("does not offer to edit a command that the host does not run", async () => {
    const { page } = await askedAll(["a", { toolInput: "ls -l" }]);
    expect(await moreOptions(page)).not.toContain("Edit the command…");
  });

  test("allows similar requests together, each with its own answer", async () => {
    const other = { risk: { severity: "medium", reason: "Runs.", like: "`ls`" } };
    const { store, page } = await askedAll(["a"], ["b"], ["c", other]);
    await armed(page);
    await moreOptions(page);
    page.button("Allow all 2 edits once").click();
    const sent = store.dispatched.map(({ action }) => action);
    expect(sent).toMatchObject([
      { toolCallId: "a", approved: true, selectedOptionId: "allow" },
      { toolCallId: "b", approved: true, selectedOptionId: "allow" },
    ]);
    await page.until(() => expect(page.all(".permission").length).toEqual(1));
  });

  test("sends the edited command of one request with Allow all", async () => {
    const command = { editable: true, toolInput: "ls -l", risk: { severity: "low", reason: "Runs.", like: "`ls`" } };
    const { store, page } = await askedAll(["a", command], ["b", command]);
    await armed(page);
    await moreOptions(page);
    page.button("Edit the command…").click();
    await page.until(() => page.find(".permission-edit"));
    type(page.find<HTMLTextAreaElement>(".permission-edit"), "ls -la");
    await armed(page);
    await moreOptions(page, 1);
    page.button("Allow all 2 `ls` once").click();
    const sent = store.dispatched.map(({ action }) => action) as { toolCallId?: string; editedToolInput?: string }[];
    expect(sent.map((one) => [one.toolCallId, one.editedToolInput])).toEqual([
      ["a", "ls -la"],
      ["b", undefined],
    ]);
  });

  test("does not offer Allow all for a single or critical request", async () => {
    const critical = { risk: { severity: "critical", reason: "Deletes.", like: "edits" } };
    const { page } = await askedAll(["a"], ["b", critical], ["c", { risk: { severity: "low", reason: "Looks." } }]);
    for (const card of [0, 1, 2]) expect((await moreOptions(page, card)).join()).not.toContain("Allow all");
  });

  test("ignores Allow all right after a similar request appears", async () => {
    const { store, page } = await askedAll(["a"], ["b"]);
    await armed(page);
    await moreOptions(page);
    fakeTimers();
    askAlike(store, "c");
    await page.until(() => page.button("Allow all 3 edits once"));
    page.button("Allow all 3 edits once").click();
    expect(store.dispatched).toEqual([]);
    page.button("Allow").click();
    expect(store.dispatched.length).toEqual(1);
  });

  test("offers Undo after a permanent answer, and Undo revokes it", async () => {
    const { store, page } = await askedAll(["a"]);
    await armed(page);
    await moreOptions(page);
    page.button("Any edit, until I revoke it").click();
    await page.until(() => page.button("Undo"));
    page.button("Undo").click();
    expect(store.requested.at(-1)).toEqual({
      method: "revokeGrant",
      params: { channel: SESSION, toolCallId: "a" },
    });
    await page.until(() => expect(page.find(".decision").textContent).toContain("Revoked: it asks again."));
  });

  test("removes Undo after ten seconds, and offers none for one turn", async () => {
    const { page } = await askedAll(["a"], ["b"]);
    await armed(page);
    await moreOptions(page, 1);
    page.button("Any edit, this turn").click();
    await moreOptions(page);
    fakeTimers();
    page.button("Any edit, until I revoke it").click();
    await page.until(() => page.button("Undo"));
    expect(page.all(".decision .text-button")).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(10_000);
    await page.until(() => expect(page.all(".decision .text-button")).toEqual([]));
  });
});

describe("a permission card", () => {
  test("is one line while the notebook shows the proposed cell edit", async () => {
    const { store, page } = await askedAll(["a"], ["b"]);
    await armed(page);
    const proposals: CellProposal[] = [];
    const went: string[] = [];
    const propose = (all: readonly CellProposal[]) => proposals.push(...all);
    const showProposal = (id: string) => went.push(id);
    store.notebook = { propose, showProposal } as unknown as NotebookActions;
    const cell = { notebook: "fit.ipynb", action: "replace", cellId: "c", oldText: "x = 1", newText: "x = 2" };
    askAlike(store, "c", { details: { kind: "edit", cell } });
    const root = store.root.peek() as NonNullable<ReturnType<typeof store.root.peek>>;
    store.root.value = { ...root, sessions: (root.sessions ?? []).map((one) => ({ ...one, status: 24 })) };
    onTestFinished(followProposals(store));
    await page.until(() => expect(page.all(".permission")).toHaveLength(3));
    proposals[0]?.placed?.({ where: "in [3]", obstacle: "You changed this cell." });
    await page.until(() => expect(page.all(".permission")).toHaveLength(2));
    expect(page.find(".waiting-in-cell").textContent).toBe("Waiting in [3] →Write cPreview");
    expect(await moreOptions(page)).toContain("Allow all 2 edits once");
    page.find(".waiting-link").click();
    expect(went).toEqual([proposals[0]?.id]);
    proposals[0]?.placed?.({ where: "", obstacle: "The cell is no longer in the notebook." });
    await page.until(() => expect(page.all(".permission")).toHaveLength(3));
    const names = [...(page.all(".permission")[2]?.querySelectorAll(".permission-options button") ?? [])];
    expect(names.map(({ textContent }) => textContent)).toEqual(["Reject"]);
    expect(page.text()).toContain("The cell is no longer in the notebook.");
    proposals[0]?.placed?.(undefined);
    await page.until(() => expect(page.text()).not.toContain("The cell is no longer"));
  });

  test("shows the command, and the agent's options by name and in order", async () => {
    const { page } = await openPermission();
    expect(page.text()).toContain("rm data.csv");
    expect(page.find(".permission-what").title).toContain("/work/data.csv");
    page.find(".permission-what").click();
    await page.until(() => expect(page.text()).toContain("Delete the data"));
    expect(answers(page).map((button) => button.textContent)).toEqual(["Preview", "Allow once", "Reject"]);
    expect(answers(page).map((button) => button.classList.contains("primary"))).toEqual([false, true, false]);
    expect(await moreOptions(page)).toEqual(["Always allow"]);
  });

  test("shows two of seven answers as buttons, and the others in the menu", async () => {
    const always: ConfirmationOption = {
      id: "never",
      label: "Reject always",
      kind: "deny",
      optionKind: "reject_always",
    };
    const scopes = ["turn", "session", "always"].map(
      (scope): ConfirmationOption => ({
        id: `agentnb:${scope}`,
        label: `Allow edits for the ${scope}`,
        kind: "approve",
        group: 1,
        optionKind: `allow_${scope}`,
      }),
    );
    const { page } = await openPermission([always, ...[...OPTIONS].reverse(), ...scopes]);
    expect(answers(page).map((one) => one.textContent)).toEqual(["Preview", "Allow once", "Reject"]);
    const names = scopes.map(({ label }) => label).reverse();
    expect(await moreOptions(page)).toEqual([...names, "Always allow", "Reject always"]);
  });

  test("highlights Reject when critical, and keeps the order of the buttons", async () => {
    const { page } = await askedAll(["a", { risk: { severity: "critical", reason: "Deletes folders." } }]);
    expect(answers(page).map((one) => [one.textContent, one.classList.contains("primary")])).toEqual([
      ["Allow", false],
      ["Reject", true],
    ]);
  });

  test("ignores clicks for its first half second, then answers", async () => {
    fakeTimers();
    const { store, page } = await openPermission();
    page.button("Allow once").click();
    expect(store.dispatched).toEqual([]);
    expect(page.button("Allow once").getAttribute("aria-disabled")).toEqual("true");
    await vi.advanceTimersByTimeAsync(INERT_FOR);
    await armed(page);
    page.button("Allow once").click();
    expect(store.dispatched.length).toEqual(1);
  });

  test("ignores clicks on menu entries right after More options opens", async () => {
    fakeTimers();
    const { store, page } = await askedAll(["a"]);
    await vi.advanceTimersByTimeAsync(INERT_FOR);
    await armed(page);
    for (const again of [false, true]) {
      page.button("More options").click();
      await page.until(() => page.button("Any edit, until I revoke it"));
      page.button("Any edit, until I revoke it").click();
      expect(store.dispatched, again ? "opened again" : "opened").toEqual([]);
      press(page.button("Any edit, until I revoke it"), "Escape");
      await page.until(() => expect(page.all("[role=menu]")).toEqual([]));
    }
    page.button("More options").click();
    await page.until(() => page.button("Any edit, until I revoke it"));
    await vi.advanceTimersByTimeAsync(INERT_FOR);
    await armed(page);
    page.button("Any edit, until I revoke it").click();
    expect(store.dispatched.length).toEqual(1);
  });

  test("sends an approving option with its id, and folds into one line", async () => {
    const { store, page } = await openPermission();
    await armed(page);
    await moreOptions(page);
    page.find("[role=menuitem]").click();
    expect(store.dispatched).toEqual([
      {
        channel: CHAT,
        action: {
          type: "chat/toolCallConfirmed",
          turnId: "t1",
          toolCallId: "c1",
          approved: true,
          confirmed: "user-action",
          selectedOptionId: "always",
        },
      },
    ]);
    await page.until(() => expect(page.all(".permission")).toEqual([]));
    expect(page.find(".decision.allowed").textContent).toEqual("Allowed Always allow");
  });

  test.each([
    { approved: true, confirmed: "user-action" },
    { approved: false, reason: "denied", answeredBy: { kind: "client", clientId: "me" } },
  ])("folds its diff after an answer; one click opens it (%j)", async (answer) => {
    const { store, page } = await openPermission();
    const content = [{ type: "diff", path: "/work/fit.py", oldText: "a\n", newText: "b\n" } as const];
    store.apply(CHAT, {
      type: "x-agentnb/toolCallDetailsChanged",
      turnId: "t1",
      toolCallId: "c1",
      details: { content },
    });
    await page.until(() => page.find(".permission .diff-count"));
    store.apply(CHAT, { type: "chat/toolCallConfirmed", turnId: "t1", toolCallId: "c1", ...answer });
    await page.until(() => expect(page.all(".permission")).toEqual([]));
    expect(page.all(".line")).toEqual([]);
    page.find(".tool .fold-head").click();
    await page.until(() => page.find(".tool .line.added"));
  });

  test("sends a denying option as a denial, and shows Denied", async () => {
    const { store, page } = await openPermission();
    await armed(page);
    page.button("Reject").click();
    expect(store.dispatched[0]?.action).toEqual({
      type: "chat/toolCallConfirmed",
      turnId: "t1",
      toolCallId: "c1",
      approved: false,
      reason: "denied",
      selectedOptionId: "no",
    });
    await page.until(() => expect(page.find(".tool .state-text").textContent).toEqual("Denied"));
  });

  test("offers Reject when the agent gives no options", async () => {
    const { store, page } = await openPermission([]);
    await armed(page);
    page.button("Reject").click();
    expect(store.dispatched[0]?.action).toEqual({
      type: "chat/toolCallConfirmed",
      turnId: "t1",
      toolCallId: "c1",
      approved: false,
      reason: "denied",
    });
  });

  test("is a named group, and is announced politely with the agent's name", async () => {
    const { page } = await openPermission();
    const card = page.find(".permission");
    expect(card.getAttribute("role")).toEqual("group");
    const label = card.getAttribute("aria-labelledby") as string;
    expect(page.root.getElementById(label)?.textContent).toEqual("Permission required");
    await page.until(() =>
      expect(page.find("[aria-live=polite]").textContent).toEqual("Eliza asks for permission: Delete the data"),
    );
  });

  test("takes the focus when nothing else has it", async () => {
    const { page } = await openPermission();
    expect(page.root.activeElement).toBe(page.find(".permission"));
  });

  test("never takes the focus from someone who is typing", async () => {
    const store = readyStore();
    const page = open(store, { kind: "chat" });
    page.find("textarea").focus();
    startTurn(store, "t1", "Tidy up");
    ask(store);
    await page.until(() => page.find(".permission"));
    expect(page.root.activeElement).toBe(page.find("textarea"));
  });

  test("never takes the focus from the rest of the page", async () => {
    const cell = document.body.appendChild(document.createElement("button"));
    cell.focus();
    await openPermission();
    expect(document.activeElement).toBe(cell);
    cell.remove();
  });

  test("moves the focus to the tool call when answered by keyboard", async () => {
    const { page } = await openPermission();
    await armed(page);
    page.button("Allow once").focus();
    page.button("Allow once").click();
    await page.until(() => expect(page.all(".permission")).toEqual([]));
    expect((page.root.activeElement as HTMLElement).dataset.call).toEqual("c1");
  });

  test("never closes a menu that is open on another card", async () => {
    const { store, page } = await askedAll(["a"]);
    await moreOptions(page);
    const item = page.root.activeElement;
    askAlike(store, "b");
    await page.until(() => expect(page.all(".permission")).toHaveLength(2));
    expect(page.root.activeElement).toBe(item);
  });

  test("closes its menu on a click outside and on Tab", async () => {
    const { page } = await askedAll(["a"]);
    await moreOptions(page);
    page.button("Reject").focus(); // a press focuses; the click follows with the release
    expect(page.find("[role=menu]").isConnected).toEqual(true);
    page.find(".permission-head").click();
    await page.until(() => expect(page.all("[role=menu]")).toEqual([]));
    await moreOptions(page);
    press(page.root.activeElement as Element, "Tab");
    await page.until(() => expect(page.all("[role=menu]")).toEqual([]));
  });

  test("has a menu that arrow keys navigate and Escape closes", async () => {
    const { page } = await askedAll(["a"]);
    await moreOptions(page);
    expect(page.root.activeElement?.textContent).toEqual("Any edit, this turn");
    press(page.root.activeElement as Element, "ArrowUp");
    expect(page.root.activeElement?.textContent).toEqual("Any edit, until I revoke it");
    press(page.root.activeElement as Element, "Escape");
    await page.until(() => expect(page.all("[role=menu]")).toEqual([]));
    expect(page.root.activeElement?.ariaLabel).toEqual("More options");
  });
});
