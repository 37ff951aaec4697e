/** Helpers for the modules fetched on first use: each has its own copy of Preact, without signals. */
import type { ReadonlySignal } from "@preact/signals";
import { type ComponentChild, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RootState } from "../state/types.gen";

/** Shows `panel` in `into` with its styles; returns a function that removes both. */
export function mountPanel(into: HTMLElement, css: string, className: string, panel: ComponentChild): () => void {
  const style = into.ownerDocument.createElement("style");
  style.textContent = css;
  const body = into.ownerDocument.createElement("div");
  body.className = className;
  into.append(style, body);
  render(panel, body);
  return () => {
    render(null, body);
    style.remove();
    body.remove();
  };
}

/** Returns the root channel's state and redraws the component when it changes. */
export const useRoot = (root: ReadonlySignal<RootState | undefined>) => useValue(root);

/** Returns a signal's value and redraws the component when it changes. */
export function useValue<T>(signal: ReadonlySignal<T>): T {
  const [value, setValue] = useState(() => signal.peek());
  useEffect(() => signal.subscribe((next) => setValue(() => next)), [signal]);
  return value;
}
