/** Events on a view's host element: the JupyterLab extension and other views use them for requests. */
import { useLayoutEffect } from "preact/hooks";
import { useView } from "./context";

/** `try`: the tries side by side, to start one with the text of the message box. */
export type PanelName = "history" | "settings" | "branches" | "try";

/** Listens to an event while the component is mounted; a handler marks an event as taken with `preventDefault`. */
export function useHostEvent<T>(name: string, hear: (event: CustomEvent<T>) => void): void {
  const { root } = useView();
  useLayoutEffect(() => {
    const listener = hear as (event: Event) => void;
    root.host.addEventListener(name, listener);
    return () => root.host.removeEventListener(name, listener);
  });
}

/** Opens the list of agents at the message box; `missing` includes those not installed yet. */
export function showAgents({ host }: ShadowRoot, which: "agents" | "missing"): void {
  host.dispatchEvent(new CustomEvent("agentnb-agents", { detail: which }));
}

/** Shows the history, the settings or the tries in place of the conversation. */
export function showPanel({ host }: ShadowRoot, panel: PanelName): void {
  host.dispatchEvent(new CustomEvent("agentnb-panel", { detail: panel, cancelable: true }));
}
