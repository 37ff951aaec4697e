/** What the modules need that are fetched when they are opened first: each has its own copy of Preact, without signals. */
import type { ReadonlySignal } from "@preact/signals";
import { type ComponentChild, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RootState } from "../state/types.gen";

/** Shows `panel` in `into` with its styles; the result takes both away again. */
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

/** The root channel's state, drawn again when it changes. */
export const useRoot = (root: ReadonlySignal<RootState | undefined>) => useValue(root);

/** What a signal has, drawn again when that changes. */
export function useValue<T>(signal: ReadonlySignal<T>): T {
  const [value, setValue] = useState(() => signal.peek());
  useEffect(() => signal.subscribe((next) => setValue(() => next)), [signal]);
  return value;
}
