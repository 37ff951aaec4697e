/** Events of the element that a view stands in: the JupyterLab extension and other views ask for things by them. */
import { useLayoutEffect } from "preact/hooks";
import { useView } from "./context";

/** `try`: tries side by side, and the text of the message box is to be tried. */
export type PanelName = "history" | "settings" | "branches" | "try";

/** Hears events of a name while the component is there; one that is taken is marked by preventing its default. */
export function useHostEvent<T>(name: string, hear: (event: CustomEvent<T>) => void): void {
  const { root } = useView();
  useLayoutEffect(() => {
    const listener = hear as (event: Event) => void;
    root.host.addEventListener(name, listener);
    return () => root.host.removeEventListener(name, listener);
  });
}

/** Opens the list of agents at the message box; `missing`: with those that are to be installed. */
export function showAgents({ host }: ShadowRoot, which: "agents" | "missing"): void {
  host.dispatchEvent(new CustomEvent("agentnb-agents", { detail: which }));
}

/** Shows the history, the settings or the tries in the place of the conversation. */
export function showPanel({ host }: ShadowRoot, panel: PanelName): void {
  host.dispatchEvent(new CustomEvent("agentnb-panel", { detail: panel, cancelable: true }));
}
