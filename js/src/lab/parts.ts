/** The parts of the extension that are loaded when they are wanted (js/labextension.mjs). */
interface Container {
  part(name: string): Promise<unknown>;
}

/** A part by its name; `T` is the module that it is built from. */
export const part = <T>(
  name:
    | "agent-text"
    | "attach"
    | "attention"
    | "cell-review"
    | "cell-steps"
    | "compare"
    | "mermaid"
    | "rejoin"
    | "review"
    | "settings-editor"
    | "workspace-files",
): Promise<T> =>
  (window as unknown as { _JUPYTERLAB: { agentnb: Container } })._JUPYTERLAB.agentnb.part(name) as Promise<T>;
