/**
 * Where the JupyterLab extension leaves, for each widget manager in the page, what can be done with its notebook.
 *
 * The extension and the widgets are bundles of their own, and a widget's bundle is evaluated once per model: a page-wide
 * symbol is what they share. A widget manager belongs to one notebook, so a view edits the notebook that it is part of.
 */
import type { NotebookActions } from "./view/store";

const KEY = Symbol.for("agentnb.notebooks");

type Notebooks = WeakMap<object, NotebookActions>;

export function notebooks(): Notebooks {
  const page = globalThis as { [KEY]?: Notebooks };
  page[KEY] ??= new WeakMap();
  return page[KEY];
}
