/** The host model's module (anywidget): one client per page and model, shared by every view of it. */
import { Client, type Wire } from "./comm/client";
import { followProposals } from "./view/cell-proposals";
import { followAttention, followCellChanges, followSettings } from "./view/followers";
import { show } from "./view/language";
import type { What } from "./view/store";

interface InitializeContext {
  model: Wire;
  signal?: AbortSignal;
}

interface RenderContext {
  el: HTMLElement;
}

/** The widget's exports for panels (anywidget's `host.getWidget(ref).exports`). */
export interface Exports {
  mount(el: HTMLElement, what: What): () => void;
}

/** anywidget calls this once per model; Jupyter also evaluates the module per model, other front ends once per page. */
export default () => {
  let client: Client | undefined;
  return {
    initialize({ model, signal }: InitializeContext): Exports {
      const made = new Client(model);
      client = made;
      const unfollow = [followProposals(made), followCellChanges(made), followAttention(made), followSettings(made)];
      signal?.addEventListener("abort", () => {
        for (const end of unfollow) end();
        made.dispose();
      });
      return { mount: (el, what) => show(el, made, what) };
    },
    render({ el }: RenderContext): (() => void) | undefined {
      return client && show(el, client, { kind: "chat" });
    },
  };
};
