/**
 * Keeps the keys of a view from the notebook around it, and lets the application have its own.
 *
 * JupyterLab and Notebook 7 look for a shortcut at the document, and pass over elements marked
 * `data-lm-suppress-shortcuts`: the whole view is marked, always. What bubbles out of it would still bring the focus
 * back to the active cell, so nothing does. What the application answers to everywhere (save, palette, sidebars) is
 * said once more at the body, where no command of the notebook is meant. A listener at the window comes before all.
 */

const MARK = "data-lm-suppress-shortcuts";
const EDITING = /^(?:[acfvxyz]|enter|backspace|delete|tab|arrow.*|home|end|page.*|control|meta|shift)$/i;
const EDITING_SHIFTED = /^(?:[vz]|enter|backspace|delete|tab|arrow.*|home|end|page.*|control|meta|shift)$/i;
const KINDS = ["keydown", "keypress", "keyup"];

export function keepShortcutsAway(host: HTMLElement): () => void {
  host.setAttribute(MARK, "true");
  const stop = (event: Event) => event.stopPropagation();
  const onKey = (event: KeyboardEvent) => {
    if (!event.composedPath().includes(host)) return;
    host.setAttribute(MARK, "true");
    if (isCommand(event) && passOn(event)) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  };
  const over = new AbortController();
  for (const kind of KINDS) host.addEventListener(kind, stop, { signal: over.signal });
  window.addEventListener("keydown", onKey, { capture: true, signal: over.signal });
  return () => over.abort();
}

/** With Ctrl or Command and not what edits, moves or finds; with Alt it may be a letter of some keyboards. */
function isCommand({ ctrlKey, metaKey, altKey, shiftKey, key }: KeyboardEvent): boolean {
  return (ctrlKey || metaKey) && !altKey && !(shiftKey ? EDITING_SHIFTED : EDITING).test(key);
}

/** Whether the application has taken it. */
function passOn(event: KeyboardEvent): boolean {
  const { key, code, keyCode, ctrlKey, metaKey, shiftKey, repeat } = event;
  const same = { key, code, keyCode, ctrlKey, metaKey, shiftKey, repeat };
  return !document.body.dispatchEvent(new KeyboardEvent("keydown", { ...same, bubbles: true, cancelable: true }));
}

/** Ctrl+F, or Command+F: finds in what is shown. The browser's own find stays on F3. */
export function isFindKey({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  return key === "f" && (ctrlKey || metaKey) && !altKey && !shiftKey;
}

/** Alt+H, which opens the history and closes it. By its place on the keyboard: with Option it is another letter on a Mac. */
export function isHistoryKey({ code, altKey, ctrlKey, metaKey, shiftKey }: KeyboardEvent): boolean {
  return code === "KeyH" && altKey && !ctrlKey && !metaKey && !shiftKey;
}

/** The place that an arrow key, Home or End goes to from `at` in a list, round its ends; undefined for other keys. */
export function targetOf(key: string, [back, forth]: readonly [string, string], at: number, length: number) {
  if (key === "Home") return 0;
  if (key === "End") return length - 1;
  const step = key === forth ? 1 : key === back ? -1 : 0;
  return step === 0 ? undefined : (at + step + length) % length;
}
