/**
 * Keeps JupyterLab's shortcuts away from what is typed in a view.
 *
 * JupyterLab reads keys at the document in the capture phase, before any listener of ours inside it, and passes
 * over elements marked `data-lm-suppress-shortcuts`. A listener at the window comes first: it marks the view's
 * element for keys that are text or editing, and leaves the rest (save, command palette) to JupyterLab.
 */

const MARK = "data-lm-suppress-shortcuts";
const EDITING = new Set(["a", "c", "v", "x", "y", "z", "enter", "backspace", "delete"]);

export function keepShortcutsAway(host: HTMLElement): () => void {
  const onKey = (event: KeyboardEvent) => {
    const target = event.composedPath()[0];
    if (!(target instanceof Element) || !event.composedPath().includes(host)) return;
    if (target.matches("textarea, input") && isTyping(event)) host.setAttribute(MARK, "true");
    else host.removeAttribute(MARK);
  };
  window.addEventListener("keydown", onKey, { capture: true });
  return () => window.removeEventListener("keydown", onKey, { capture: true });
}

function isTyping(event: KeyboardEvent): boolean {
  if (!event.ctrlKey && !event.metaKey) return true;
  return EDITING.has(event.key.toLowerCase()) || event.key.startsWith("Arrow");
}
