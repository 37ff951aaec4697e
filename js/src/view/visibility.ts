/** Whether anyone can see an element: on screen, attached, with a height, in a page that is in front. */

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
