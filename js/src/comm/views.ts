/** The views of one client: whether any can be seen, and bringing one before the reader. */
import type { ViewLink } from "../view/store.ts";

interface Shown {
  visible: boolean;
  element: Element | undefined;
}

export class Views {
  #views = new Map<string, Shown>();
  #visible = false;
  #changed: (visible: boolean) => void;

  /** `changed` is called when the first view comes into sight, and when the last one goes. */
  constructor(changed: (visible: boolean) => void) {
    this.#changed = changed;
  }

  get visible(): boolean {
    return this.#visible;
  }

  open(viewId: string, element?: Element): ViewLink {
    const view: Shown = { visible: false, element };
    this.#views.set(viewId, view);
    return {
      setVisible: (visible) => {
        view.visible = visible;
        this.#report();
      },
      close: () => {
        this.#views.delete(viewId);
        this.#report();
      },
    };
  }

  /** Brings a view of this client before the reader. */
  show(): void {
    const elements = [...this.#views.values()].map((view) => view.element);
    elements.findLast((element) => element?.isConnected)?.scrollIntoView({ block: "nearest" });
  }

  #report(): void {
    const visible = [...this.#views.values()].some((view) => view.visible);
    if (visible === this.#visible) return;
    this.#visible = visible;
    this.#changed(visible);
  }
}
