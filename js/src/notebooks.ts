/**
 * The JupyterLab extension's notebook actions, by widget manager of the page.
 *
 * The extension and the widgets are separate bundles, and a widget's bundle is evaluated once per model: they share a
 * name in the page. A widget manager belongs to one notebook, so a view edits the notebook that contains it.
 */
import type { NotebookActions } from "./view/store";

const page = globalThis as { agentnbNotebooks?: WeakMap<object, NotebookActions> };
const OFFERED = "agentnb:notebook";

/** The page's event after a silent kernel has answered again: messages to it may have been lost. */
export const AGAIN = "agentnb-again";

/** Calls `listener` at each offer, which may come after the notebook's widgets were made; the result unsubscribes. */
export function onOffer(listener: () => void): () => void {
  globalThis.addEventListener(OFFERED, listener);
  return () => globalThis.removeEventListener(OFFERED, listener);
}

/** Returns the actions for a widget manager's notebook; undefined without a manager or the extension. */
export function notebookOf(manager: object | undefined): NotebookActions | undefined {
  return page.agentnbNotebooks?.get(manager as object);
}

/** Offers a notebook's actions; the extension calls this. */
export function offer(manager: object, actions: NotebookActions): void {
  page.agentnbNotebooks ??= new WeakMap();
  page.agentnbNotebooks.set(manager, actions);
  globalThis.dispatchEvent(new Event(OFFERED));
}
