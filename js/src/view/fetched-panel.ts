/** Helpers for the modules fetched on first use: each has its own copy of Preact, without signals. */
import type { ReadonlySignal } from "@preact/signals";
import { type ComponentChild, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Request } from "../state/answers";

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

/** Returns a signal's value and redraws the component when it changes. */
export function useValue<T>(signal: ReadonlySignal<T>): T {
  const [value, setValue] = useState(() => signal.peek());
  useEffect(() => signal.subscribe((next) => setValue(() => next)), [signal]);
  return value;
}

/** Calls `load` when the component mounts, and whenever settings change, in any window or file. */
export function useSettingsChanges(
  request: Request,
  settingsChanged: ReadonlySignal<unknown> | undefined,
  load: () => Promise<void>,
): void {
  useEffect(() => {
    void load();
    const before = settingsChanged?.peek();
    // Never switched off: JupyterLab's Settings editor uses the same subscription on this connection.
    request("watchSettings", { on: true }).catch(() => undefined); // older kernels lack it
    return settingsChanged?.subscribe((value) => {
      if (value !== before) void load();
    });
  }, []);
}
