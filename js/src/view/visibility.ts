/** What of a view can be seen, and what is near. */
import type { Store, ViewLink } from "./store";

/** Tells whether anyone can see an element: on screen, attached, with a height, in a page that is in front. */
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

/** A view of what the notebook's cells show: a page in front learns its end also while its chat is closed. */
export class CellView {
  readonly #link: ViewLink;
  readonly #report = (): void => this.#link.setVisible(this.#isShown && document.visibilityState !== "hidden");
  #isShown = false;

  /** `id` is another one than that of the store's other views. */
  constructor(store: Store, id: string) {
    this.#link = store.view(id);
    document.addEventListener("visibilitychange", this.#report);
  }

  /** Whether the cells show something. */
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

/** Tells once when an element comes near the screen, so that what is far away need not be drawn. */
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
    // `scrollMargin` makes the margin count inside scrolling boxes too; the DOM types lack it still.
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
