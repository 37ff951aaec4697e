/**
 * Where the JupyterLab extension leaves, for each widget manager in the page, what can be done with its notebook.
 *
 * The extension and the widgets are bundles of their own, and a widget's bundle is evaluated once per model: a name in
 * the page is what they share. A widget manager belongs to one notebook, so a view edits the notebook that it is part of.
 */
import type { NotebookActions } from "./view/store";

const page = globalThis as { agentnbNotebooks?: WeakMap<object, NotebookActions> };
const OFFERED = "agentnb:notebook";

/** The event in the page that a kernel answers again, after messages to it may have been lost. */
export const AGAIN = "agentnb-again";

/** Calls `listener` whenever a notebook was offered, which may come after its widgets were made; the result ends that. */
export function onOffer(listener: () => void): () => void {
  globalThis.addEventListener(OFFERED, listener);
  return () => globalThis.removeEventListener(OFFERED, listener);
}

/** What can be done with the notebook of a widget manager; undefined without one, and without the extension. */
export function notebookOf(manager: object | undefined): NotebookActions | undefined {
  return page.agentnbNotebooks?.get(manager as object);
}

/** The extension's word on a notebook. */
export function offer(manager: object, actions: NotebookActions): void {
  page.agentnbNotebooks ??= new WeakMap();
  page.agentnbNotebooks.set(manager, actions);
  globalThis.dispatchEvent(new Event(OFFERED));
}
