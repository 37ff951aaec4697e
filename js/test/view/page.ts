/** Mounts a view in the test's page, and finds or awaits what it shows. */
import { options } from "preact";
import { onTestFinished, vi } from "vitest";
import { mount } from "../../src/view/mount";
import type { Store, What } from "../../src/view/store";
import { eventually } from "../eventually";

/** Pending drawing: Preact's components, its effects, and texts that follow a signal. */
const due = new Set<() => void>();

function soon(queue: (work: () => void) => void): (work: () => void) => void {
  return (work) => {
    const once = () => {
      if (due.delete(once)) work();
    };
    due.add(once);
    queue(once);
  };
}

options.debounceRendering = soon(queueMicrotask);
options.requestAnimationFrame = soon((work) => setTimeout(work)); // the current timers: a test may use fake ones

export interface Page {
  host: HTMLElement;
  root: ShadowRoot;
  unmount(): void;
  find<E extends Element = HTMLElement>(selector: string): E;
  all(selector: string): HTMLElement[];
  text(): string;
  button(name: string): HTMLButtonElement;
  until(check: () => void): Promise<void>;
}

export function open(store: Store, what: What, into: HTMLElement = document.body): Page {
  const el = into.appendChild(document.createElement("div"));
  const unmount = mount(el, store, what);
  onTestFinished(() => {
    unmount();
    el.remove();
    sessionStorage.clear();
  });
  const host = el.firstElementChild as HTMLElement;
  const root = host.shadowRoot as ShadowRoot;
  const body = root.querySelector<HTMLElement>(".root") as HTMLElement;
  /** jsdom searches an element much faster than a shadow root, whose other children are only styles. */
  const all = <E extends Element = HTMLElement>(selector: string): E[] => [
    ...(body.matches(selector) ? [body as Element as E] : []),
    ...body.querySelectorAll<E>(selector),
  ];
  /** Waits for an event and all drawing that it causes: the result of an effect is drawn a moment later. */
  const until = (check: () => void) =>
    eventually(() => {
      check();
      if (due.size > 0) throw new Error("The view has not drawn everything yet.");
    });
  return {
    host,
    root,
    unmount,
    all,
    find<E extends Element>(selector: string): E {
      const [element] = all<E>(selector);
      if (!element) throw new Error(`Nothing is at ${selector} in ${body.innerHTML.slice(0, 2000)}`);
      return element;
    },
    text: () => body.textContent ?? "",
    button(name) {
      const button = all("button").find((one) => (one.getAttribute("aria-label") ?? one.textContent) === name);
      if (!button) throw new Error(`No button is named ${name}: ${all("button").map((one) => one.textContent)}`);
      return button as HTMLButtonElement;
    },
    until,
  };
}

/** Presses a key in `target`; returns true if its default action was prevented. */
export function press(target: Element, key: string, more: KeyboardEventInit = {}): boolean {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true, ...more });
  return !target.dispatchEvent(event);
}

export function type(box: HTMLTextAreaElement, text: string): void {
  box.value = text;
  box.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }));
}

/** Stops this test's timers until the test advances them; this includes Preact's effects. */
export function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    for (const work of due) work(); // its timer would never fire
    vi.useRealTimers();
  });
}
