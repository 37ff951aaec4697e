/**
 * Shows the view in the page's language. Languages other than English are another build (js/translate.mjs), which is
 * fetched.
 */
import { batch, computed, effect, Signal, signal, untracked } from "@preact/signals";
import { mount } from "./mount";
import type { Store, What } from "./store";

/** The other build reads signals of this one, so it must not bring its own copy of the library. */
const signals = () => ({ batch, computed, effect, Signal, signal, untracked });

/**
 * Shows the view in `el`; returns a function that removes it. Falls back to English if the other build can't be
 * fetched.
 */
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
