/** The parts of the extension that are loaded when they are wanted (js/labextension.mjs). */
import type { compare } from "./compare";
import type { ReviewPanel } from "./review";

interface Container {
  part(name: "compare"): Promise<{ compare: typeof compare }>;
  part(name: "review"): Promise<{ ReviewPanel: typeof ReviewPanel }>;
}

export const parts = (): Container =>
  (window as unknown as { _JUPYTERLAB: { agentnb: Container } })._JUPYTERLAB.agentnb;
