import { expect, test } from "vitest";
import { CHAT, readyStore } from "./memory-store";
import { open, press, type } from "./page";

const ITEMS = [
  {
    label: "cell:3",
    kind: "document",
    tokens: 1_234,
    leftOut: ["What was printed is cut to 10,000 characters."],
    isTaken: true,
    text: "In [3]:\nplot()<img src=x onerror=alert(1)>",
  },
  {
    label: "cell:3 picture 1",
    kind: "image",
    tokens: 409,
    leftOut: [],
    isTaken: false,
    data: "aGk=",
    contentType: "image/png",
  },
  { label: "a.csv", kind: "document", leftOut: [], isTaken: true },
];

/** A chat whose kernel previews `items`; only the requested item has its content. */
function chat(items: readonly Record<string, unknown>[] = ITEMS) {
  const store = readyStore();
  store.answer = (method, params) => {
    if (method !== "previewMentions") return Promise.resolve({});
    const { label } = params as { label?: string };
    const previews = items.map(({ text, data, contentType, ...one }) =>
      one.label === label ? { ...one, text, data, contentType } : one,
    );
    return Promise.resolve({ items: previews });
  };
  const page = open(store, { kind: "chat" });
  const box = page.find<HTMLTextAreaElement>("textarea");
  const previewRequests = () => store.requested.filter(({ method }) => method === "previewMentions");
  const chips = () => page.all(".mention-chip").map((chip) => chip.textContent);
  return { store, page, box, previewRequests, chips };
}

test("each attachment of a mention has a chip with its size and state", async () => {
  const { page, box, previewRequests, chips } = chat();
  type(box, "Explain @cell:3 and @a.csv");
  await page.until(() =>
    expect(chips()).toEqual(["cell:3~1.2K tokenscut", "cell:3 picture 1~409 tokensnot accepted", "a.csv"]),
  );
  expect(previewRequests().map(({ params }) => params)).toEqual([
    { channel: CHAT, text: "Explain @cell:3 and @a.csv" },
  ]);
});

test("a chip opens a preview; Escape closes it and focuses the message box", async () => {
  const { page, box, chips } = chat();
  type(box, "@cell:3");
  await page.until(() => expect(chips().length).toEqual(3));
  const [text, picture, file] = page.all(".mention-chip") as [HTMLElement, HTMLElement, HTMLElement];
  text.click();
  await page.until(() => expect(page.find(".mention-preview pre").textContent).toEqual(ITEMS[0]?.text));
  expect(page.find(".mention-preview").textContent).toContain("What was printed is cut to 10,000 characters.");
  expect(page.all(".mention-preview img")).toEqual([]);
  expect(text.getAttribute("aria-expanded")).toEqual("true");
  picture.click();
  await page.until(() =>
    expect(page.find(".mention-preview img").getAttribute("src")).toEqual("data:image/png;base64,aGk="),
  );
  expect(page.find(".mention-preview").textContent).toContain("This agent doesn't accept this");
  file.click();
  await page.until(() => expect(page.find(".mention-preview").textContent).toContain("reads the file itself"));
  press(file, "Escape");
  await page.until(() => expect(page.all(".mention-preview")).toEqual([]));
  expect(page.root.activeElement).toBe(box);
});

test("previews are requested once per mention; sending removes the chips", async () => {
  const { page, box, previewRequests, chips } = chat();
  type(box, "Mail ada@example.org about 5 @ 3");
  type(box, "Look at @cell:3");
  await page.until(() => expect(chips().length).toEqual(3));
  type(box, "Look at @cell:3 again");
  await page.until(() => expect(box.value).toContain("again"));
  expect(previewRequests().length).toEqual(1);
  press(box, "Enter");
  await page.until(() => expect(chips()).toEqual([]));
});

test("no chips appear when the kernel does not support previews", async () => {
  const { store, page, box, previewRequests, chips } = chat();
  store.answer = () => Promise.reject(new Error("There is no request of that name."));
  type(box, "@cell:3");
  await page.until(() => expect(previewRequests().length).toEqual(1));
  expect(chips()).toEqual([]);
});

test("the preview of a chip never shows an SVG picture", async () => {
  const svg = { label: "plot", kind: "image", tokens: 5, leftOut: [], isTaken: true, data: "PHN2Zz4=" };
  const { page, box, chips } = chat([{ ...svg, contentType: "image/svg+xml" }]);
  type(box, "@plot");
  await page.until(() => expect(chips().length).toEqual(1));
  page.find(".mention-chip").click();
  await page.until(() => expect(page.find(".mention-preview .note")).toBeTruthy());
  expect(page.all(".mention-preview img")).toEqual([]);
});

test("an agentnb-add event appends to the draft and focuses the message box", async () => {
  const { page, box, chips } = chat();
  type(box, "Compare");
  await page.until(() => expect(page.button("Send message").disabled).toEqual(false));
  const add = (detail: string) => page.host.dispatchEvent(new CustomEvent("agentnb-add", { detail, cancelable: true }));
  expect(add("@selection:1")).toEqual(false);
  expect(add("@output:3")).toEqual(false);
  await page.until(() => expect(box.value).toEqual("Compare @selection:1 @output:3 "));
  await page.until(() => expect(chips().length).toEqual(3));
  expect(page.root.activeElement).toBe(box);
});
