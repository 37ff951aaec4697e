/** The view in the page's language. In another one than English it is another build (js/translate.mjs), which is fetched. */
import { batch, computed, effect, Signal, signal, untracked } from "@preact/signals";
import { mount } from "./mount";
import type { Store, What } from "./store";

/** What the other build reads is signals of ours: it must not have others. */
const signals = () => ({ batch, computed, effect, Signal, signal, untracked });

/** Shows it in `el`; the result takes it away again. Where the other build cannot be fetched it is in English. */
export function show(el: HTMLElement, store: Store, what: What): () => void {
  if (!("agentnbCatalogue" in globalThis)) return mount(el, store, what);
  let unmount: (() => void) | undefined;
  const mounted = store
    .module?.("translated")
    .then(({ default: make }) => (make as (require: typeof signals) => { mount: typeof mount })(signals).mount)
    .catch(() => mount);
  mounted?.then((begin) => {
    unmount ??= begin(el, store, what);
  });
  return () => {
    unmount?.();
    unmount = () => {};
  };
}
