/** Tells once when an element comes near the screen, so that what is far away need not be drawn. */

const MARGIN = "1000px";

export interface NearScreen {
  watch(element: Element, then: () => void): () => void;
  dispose(): void;
}

export function nearScreen(): NearScreen | undefined {
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
    watch(element, then) {
      waiting.set(element, then);
      observer.observe(element);
      return () => forget(element);
    },
    dispose: () => observer.disconnect(),
  };
}
