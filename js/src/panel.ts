/** A display's own small model (anywidget): shows a part of the host model's client in its own element. */
import { hearThoughLate } from "./late-module";
import type { What } from "./view/store";
import type { Exports } from "./widget";

interface RenderContext {
  model: {
    get(name: "host"): string;
    get(name: "what"): What;
    readonly widget_manager?: { get_model?(id: string): Promise<object> };
  };
  el: HTMLElement;
  signal?: AbortSignal;
  host?: { getWidget(ref: string): Promise<{ exports: Exports }> };
}

const LOST = "This view is no longer connected to its kernel. Run the cell again to see it live.";

export default {
  async render({ model, el, signal, host }: RenderContext): Promise<(() => void) | undefined> {
    const id = model.get("host").replace(/^(IPY_MODEL_|anywidget:)/, "");
    try {
      if (!host) throw new Error("this front end doesn't support joining widgets");
      const { exports } = await host.getWidget(`anywidget:${id}`);
      void hearThoughLate(await model.widget_manager?.get_model?.(id));
      if (!signal?.aborted) return exports.mount(el, model.get("what"));
    } catch (error) {
      console.warn("[agentnb]", error);
      el.append(Object.assign(document.createElement("p"), { textContent: LOST }));
    }
    return undefined;
  },
};
