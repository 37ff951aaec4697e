/** Watches whether a view is visible, and which elements are near the screen. */
import type { Store, ViewLink } from "./store";

/** Reports whether an element can be seen: on screen, attached, with a height, in a page that is in front. */
export function watchVisibility(element: HTMLElement, tell: (visible: boolean) => void): () => void {
  let onScreen = typeof IntersectionObserver !== "function";
  let last: boolean | undefined;

  const report = () => {
    const visible = onScreen && element.isConnected && document.visibilityState !== "hidden";
    if (visible === last) return;
    last = visible;
    tell(visible);
  };
  const observer = onScreen
    ? undefined
    : new IntersectionObserver(
        (entries) => {
          const entry = entries[entries.length - 1];
          onScreen = entry?.isIntersecting === true && entry.boundingClientRect.height > 0;
          report();
        },
        { rootMargin: "100px" },
      );
  observer?.observe(element);
  document.addEventListener("visibilitychange", report);
  if (!observer) report();
  return () => {
    observer?.disconnect();
    document.removeEventListener("visibilitychange", report);
  };
}

/**
 * Registers a view for what the notebook's cells show, so that a page in front gets updates even with its chat closed.
 */
export class CellView {
  readonly #link: ViewLink;
  readonly #report = (): void => this.#link.setVisible(this.#isShown && document.visibilityState !== "hidden");
  #isShown = false;

  /** `id` must differ from those of the store's other views. */
  constructor(store: Store, id: string) {
    this.#link = store.view(id);
    document.addEventListener("visibilitychange", this.#report);
  }

  /** Set to true while the cells show something. */
  set isShown(isShown: boolean) {
    this.#isShown = isShown;
    this.#report();
  }

  close(): void {
    document.removeEventListener("visibilitychange", this.#report);
    this.#link.close();
  }
}

const MARGIN = "1000px";

/** Reports once when an element comes near the screen, so that far elements need not be drawn. */
export function nearScreen() {
  if (typeof IntersectionObserver !== "function") return undefined;
  const waiting = new Map<Element, () => void>();
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const then = waiting.get(entry.target);
        if (!entry.isIntersecting || !then) continue;
        forget(entry.target);
        then();
      }
    },
    // `scrollMargin` makes the margin count inside scrolling boxes too; the DOM types still lack it.
    { rootMargin: MARGIN, scrollMargin: MARGIN } as IntersectionObserverInit,
  );
  const forget = (element: Element) => {
    waiting.delete(element);
    observer.unobserve(element);
  };
  return {
    watch(element: Element, then: () => void) {
      waiting.set(element, then);
      observer.observe(element);
      return () => forget(element);
    },
    dispose: () => observer.disconnect(),
  };
}
