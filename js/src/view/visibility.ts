/** Whether anyone can see an element: on screen, attached, with a height, in a page that is in front. */
import type { Store, ViewLink } from "./store";

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
