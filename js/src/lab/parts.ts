/** The parts of the extension that are loaded on demand (js/labextension.mjs), and their modules. */
interface Parts {
  "agent-text": typeof import("./agent-text");
  attach: typeof import("./attach");
  attention: typeof import("./attention");
  "cell-review": typeof import("./cell-review");
  "cell-steps": typeof import("./cell-steps");
  compare: typeof import("./compare");
  inline: typeof import("./inline");
  "new-notebook": typeof import("./new-notebook");
  mermaid: typeof import("./mermaid");
  provenance: typeof import("./provenance");
  reconnect: typeof import("./reconnect");
  rejoin: typeof import("./rejoin");
  review: typeof import("./review");
  "settings-editor": typeof import("./settings-editor");
  translated: typeof import("./translated");
  verification: typeof import("./verification");
  "workspace-files": typeof import("./workspace-files");
}

interface Container {
  part<Name extends keyof Parts>(name: Name): Promise<Parts[Name]>;
}

export const part: Container["part"] = (name) =>
  (window as unknown as { _JUPYTERLAB: { agentnb: Container } })._JUPYTERLAB.agentnb.part(name);
