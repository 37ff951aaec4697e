import { describe, expect, onTestFinished, test } from "vitest";
import { readyStore } from "./memory-store";
import { open, press, type } from "./page";

const MARK = "data-lm-suppress-shortcuts";

/** A page that handles some keys at its body, as JupyterLab does, and receives events that bubble out of the view. */
function inPage(...known: string[]) {
  const page = open(readyStore(), { kind: "chat" });
  const application: string[] = [];
  const notebook: string[] = [];
  const atBody = (event: KeyboardEvent) => {
    if (event.target !== document.body) return;
    application.push(event.key);
    if (known.includes(event.key)) event.preventDefault();
  };
  const bubbled = (event: Event) => notebook.push((event as KeyboardEvent).key);
  const around = page.host.parentElement as HTMLElement;
  document.addEventListener("keydown", atBody, { capture: true });
  around.addEventListener("keydown", bubbled);
  around.addEventListener("keyup", bubbled);
  onTestFinished(() => document.removeEventListener("keydown", atBody, { capture: true }));
  return { page, box: page.find<HTMLTextAreaElement>("textarea"), application, notebook };
}

describe("a key in the chat", () => {
  test.each([
    ["a", {}],
    ["d", {}],
    ["Escape", {}],
    ["ArrowDown", {}],
    ["m", { altKey: true }],
    ["@", { ctrlKey: true, altKey: true }],
    ["Enter", { ctrlKey: true }],
    ["Enter", { shiftKey: true }],
    ["Enter", { altKey: true }],
    ["a", { ctrlKey: true }],
    ["z", { ctrlKey: true, shiftKey: true }],
    ["Control", { ctrlKey: true }],
  ])("%s with %o does not reach the application", (key, more) => {
    const { page, box, application, notebook } = inPage(key);
    for (const target of [box, page.find(".menu-holder button"), page.find("[role=tab]")]) {
      press(target, key, more);
      target.dispatchEvent(new KeyboardEvent("keyup", { key, bubbles: true, composed: true, ...more }));
      expect(page.host.hasAttribute(MARK)).toEqual(true);
    }
    expect({ application, notebook }).toEqual({ application: [], notebook: [] });
  });

  test.each([
    ["s", { ctrlKey: true }],
    ["b", { metaKey: true }],
    ["C", { ctrlKey: true, shiftKey: true }],
  ])("%s with %o triggers the application's shortcut, not a cell's", (key, more) => {
    const { page, box, application, notebook } = inPage(key);
    type(box, "half a thought");
    expect(press(box, key, more)).toEqual(true);
    expect({ application, notebook }).toEqual({ application: [key], notebook: [] });
    expect(page.host.hasAttribute(MARK)).toEqual(true);
    expect(box.value).toEqual("half a thought");
  });

  test("keeps its browser behaviour when the application does not use it", () => {
    const { box, application } = inPage();
    expect(press(box, "u", { ctrlKey: true })).toEqual(false);
    expect(application).toEqual(["u"]);
  });

  test("keeps its browser behaviour when it is Tab", () => {
    const { box, notebook } = inPage("Tab");
    expect(press(box, "Tab")).toEqual(false);
    expect(press(box, "Tab", { shiftKey: true })).toEqual(false);
    expect(notebook).toEqual([]);
  });

  test("is ignored outside the chat, and after the view is removed", () => {
    const { page, application } = inPage("s");
    const other = document.body.appendChild(document.createElement("button"));
    onTestFinished(() => other.remove());
    press(other, "s", { ctrlKey: true });
    page.unmount();
    press(page.host, "s", { ctrlKey: true });
    expect(application).toEqual([]);
  });
});
