/** The preview of a permission request: requested on the card, shown as text, and kept with the tool call. */
import { expect, test } from "vitest";
import type { RootState, ToolCallRehearsal } from "../../src/state/types.gen";
import { CHAT, type MemoryStore, readyStore, SESSION, startTurn } from "./memory-store";
import { fetchModule } from "./modules";
import { open, type Page, type as typed } from "./page";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const call = { turnId: "t1", toolCallId: "c1" };
const OPTIONS = [
  { id: "allow", label: "Allow", kind: "approve", optionKind: "allow_once" },
  { id: "reject", label: "Reject", kind: "deny", optionKind: "reject_once" },
];
const ENDED: ToolCallRehearsal = {
  status: "ended",
  input: "tidy",
  summary: "Would delete 312 files in build/, change a.txt (+1 −0); needs the network: not tried.",
  printed: "said\n",
  result: "<img src=x onerror=alert(1)>",
  exitCode: 0,
  variables: [{ name: "df", status: "changed", detail: "DataFrame (3, 2) → DataFrame (3, 3)", value: "   a  b  c" }],
  files: [
    {
      path: "a.txt",
      status: "changed",
      added: 1,
      removed: 0,
      diff: "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+<b>two\n",
    },
    { path: "build/x.o", status: "deleted" },
  ],
  moreFiles: 311,
  pictures: [{ type: "block", block: { type: "image", mimeType: "image/png", data: PIXEL } }],
  processes: ["/bin/sh -c tidy"],
  connections: ["pypi.example:443"],
  refused: ["/etc/hosts"],
  seconds: 0.051,
  memory: 12_000_000,
  way: "namespaces",
};

async function openPermission(kind = "execute"): Promise<{ store: MemoryStore; page: Page }> {
  const store = Object.assign(readyStore(), { module: fetchModule });
  const page = open(store, { kind: "chat" });
  startTurn(store, "t1", "Tidy up");
  store.apply(CHAT, { type: "chat/toolCallStart", ...call, toolName: kind, displayName: "tidy", details: { kind } });
  const ready = { invocationMessage: "tidy", toolInput: "tidy", editable: true, options: OPTIONS };
  store.apply(CHAT, { type: "chat/toolCallReady", ...call, ...ready });
  await page.until(() => page.find(".permission"));
  return { store, page };
}

function shows(store: MemoryStore, rehearsal: ToolCallRehearsal): void {
  store.apply(CHAT, { type: "x-agentnb/toolCallDetailsChanged", ...call, details: { rehearsal } });
}

test("Preview requests a preview, and the card shows it as plain text", async () => {
  const { store, page } = await openPermission();
  expect(page.button("Preview").title).toBe("Show what it would do, by running it in an isolated copy");
  page.button("Preview").click();
  expect(store.requested.at(-1)).toEqual({
    method: "rehearseToolCall",
    params: { channel: SESSION, toolCallId: "c1" },
  });
  shows(store, { status: "running", input: "tidy" });
  await page.until(() => expect(page.find(".preview [role=status]").textContent).toContain("isolated copy"));
  expect(page.button("Preview").ariaDisabled).toBe("true");
  shows(store, ENDED);
  await page.until(() => page.find(".preview-summary"));
  const text = page.find(".preview").textContent ?? "";
  for (const sentence of [
    ENDED.summary as string,
    "DataFrame (3, 2) → DataFrame (3, 3)",
    "and 311 more",
    "<b>two",
    "<img src=x onerror=alert(1)>",
    "/bin/sh -c tidy",
    "pypi.example:443",
    "/etc/hosts",
    "said",
    "exit code 0",
  ])
    expect(text).toContain(sentence);
  expect(page.all(".preview b, .preview img:not(.picture)")).toEqual([]);
  expect(page.all(".preview .picture")).toHaveLength(1);
  const pictured = page
    .all(".preview .picture, .preview-text, .preview-took")
    .map((one) => one.className.split(" ")[0]);
  expect(pictured).toEqual(["preview-text", "preview-text", "picture", "note"]);
  expect(page.find(".preview [role=group]:has(.picture)").ariaLabel).toBe("Pictures that it would draw");
  expect(page.all(".preview .line.added").map((one) => one.textContent)).toEqual(["+<b>two"]);
  expect(page.find<HTMLDetailsElement>(".preview details").open).toBe(true);
});

test("an edited command is previewed as edited; an older preview is marked", async () => {
  const { store, page } = await openPermission();
  shows(store, ENDED);
  await page.until(() => expect(page.all(".permission-options [aria-disabled=true]")).toEqual([]));
  page.find<HTMLButtonElement>(".permission .more").click();
  await page.until(() => page.button("Edit the command…"));
  await page.until(() => expect(page.all("[role=menuitem][aria-disabled=true]")).toEqual([]));
  page.button("Edit the command…").click();
  await page.until(() => page.find(".permission-edit"));
  typed(page.find<HTMLTextAreaElement>(".permission-edit"), "tidy --less");
  await page.until(() => expect(page.find(".preview").textContent).toContain("before you changed it"));
  page.button("Preview again").click();
  expect(store.requested.at(-1)?.params).toEqual({ channel: SESSION, toolCallId: "c1", input: "tidy --less" });
});

test("the card shows why it has no preview, and why a request failed", async () => {
  const { store, page } = await openPermission("kernel");
  store.answer = () => Promise.reject(new Error("That question was answered before."));
  page.button("Preview").click();
  await page.until(() =>
    expect(page.find(".preview .error-text").textContent).toBe("That question was answered before."),
  );
  const summary = "No preview: This kernel uses a graphics card.";
  shows(store, { status: "ended", isAvailable: false, reason: "This kernel uses a graphics card.", summary });
  await page.until(() => expect(page.find(".preview-body").textContent).toBe(summary));
});

test("the card has no Preview button when switched off or when nothing runs", async () => {
  const { store, page } = await openPermission();
  const root = store.root.peek() as RootState;
  store.root.value = { ...root, config: { values: { look: { rehearse: "off" } } } } as unknown as RootState;
  await page.until(() => expect(page.all(".preview")).toEqual([]));
  const other = await openPermission("edit");
  expect(other.page.all(".preview")).toEqual([]);
});

test("the finished tool call keeps its preview, and shows differences", async () => {
  const { store, page } = await openPermission();
  shows(store, ENDED);
  store.apply(CHAT, { type: "chat/toolCallConfirmed", ...call, approved: true, selectedOptionId: "allow" });
  const differences = [
    "The exit code was 1; the preview showed 0.",
    "<i>b</i> was created, which the preview did not show.",
  ];
  store.apply(CHAT, { type: "x-agentnb/toolCallDetailsChanged", ...call, details: { differences } });
  await page.until(() => expect(page.find(".differs").textContent).toContain("Different from the preview"));
  expect(page.find(".differs").textContent).toContain("<i>b</i> was created");
  expect(page.all(".preview-summary, .preview-after")).toEqual([]);
  page.find<HTMLButtonElement>(".tool .fold-head").click();
  await page.until(() => page.find(".preview-after"));
  page.find<HTMLButtonElement>(".preview-after .fold-head").click();
  await page.until(() => expect(page.find(".preview-summary").textContent).toBe(ENDED.summary));
  store.apply(CHAT, { type: "x-agentnb/toolCallDetailsChanged", ...call, details: { differences: [] } });
  await page.until(() => expect(page.find(".tool").textContent).toContain("As the preview showed"));
});
