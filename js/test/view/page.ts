/** A view mounted in the test's page, and ways to find and wait for what it shows. */
import { options } from "preact";
import { onTestFinished, vi } from "vitest";
import { mount } from "../../src/view/mount";
import type { Store, What } from "../../src/view/store";

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
  const all = (selector: string) => [...root.querySelectorAll<HTMLElement>(selector)];
  const body = () => root.querySelector<HTMLElement>(".root") as HTMLElement;
  return {
    host,
    root,
    unmount,
    all,
    find<E extends Element>(selector: string): E {
      const found = root.querySelector<E>(selector);
      if (!found) throw new Error(`Nothing is at ${selector} in ${body().innerHTML.slice(0, 2000)}`);
      return found;
    },
    text: () => body().textContent ?? "",
    button(name) {
      const found = all("button").find((one) => (one.getAttribute("aria-label") ?? one.textContent) === name);
      if (!found) throw new Error(`No button is named ${name}: ${all("button").map((one) => one.textContent)}`);
      return found as HTMLButtonElement;
    },
    /** What comes, comes after some turns of the loop; the limit is for what never does. */
    until: (check) => vi.waitFor(check, { timeout: 30_000, interval: 5 }),
  };
}

/** Presses a key in `target`; returns whether its default was prevented. */
export function press(target: Element, key: string, more: KeyboardEventInit = {}): boolean {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true, ...more });
  return !target.dispatchEvent(event);
}

export function type(box: HTMLTextAreaElement, text: string): void {
  box.value = text;
  box.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }));
}

/**
 * Has this test's timers stand until it moves them. Preact's effects go by them, too: else those that an earlier test
 * left would have ours wait for the real clock.
 */
export function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  options.requestAnimationFrame = (flush) => void setTimeout(flush);
  onTestFinished(() => {
    vi.useRealTimers();
    delete options.requestAnimationFrame;
  });
}
