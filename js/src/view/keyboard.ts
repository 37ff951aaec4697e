/**
 * Keeps the keys of a view from the notebook around it, and passes application shortcuts on.
 *
 * JupyterLab and Notebook 7 look for shortcuts at the document, and skip elements marked `data-lm-suppress-shortcuts`:
 * the whole view is always marked. A key event that bubbles out would still return the focus to the active cell, so
 * none does. Application-wide shortcuts (save, palette, sidebars) are dispatched again at the body, where they trigger
 * no notebook command. A listener at the window comes first.
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

/**
 * True with Ctrl or Command, except for keys that edit, move or find; with Alt it may be a letter on some keyboards.
 */
function isCommand({ ctrlKey, metaKey, altKey, shiftKey, key }: KeyboardEvent): boolean {
  return (ctrlKey || metaKey) && !altKey && !(shiftKey ? EDITING_SHIFTED : EDITING).test(key);
}

/** Sends the event to the application; returns true if it has handled it. */
function passOn(event: KeyboardEvent): boolean {
  const { key, code, keyCode, ctrlKey, metaKey, shiftKey, repeat } = event;
  const same = { key, code, keyCode, ctrlKey, metaKey, shiftKey, repeat };
  return !document.body.dispatchEvent(new KeyboardEvent("keydown", { ...same, bubbles: true, cancelable: true }));
}

/** True for Ctrl+F or Command+F, which finds in the chat. The browser's own find stays on F3. */
export function isFindKey({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  return key === "f" && (ctrlKey || metaKey) && !altKey && !shiftKey;
}

/**
 * True for Alt+H, which opens and closes the history. It checks the physical key, since Option types another letter on
 * a Mac.
 */
export function isHistoryKey({ code, altKey, ctrlKey, metaKey, shiftKey }: KeyboardEvent): boolean {
  return code === "KeyH" && altKey && !ctrlKey && !metaKey && !shiftKey;
}

/**
 * Returns the position that an arrow key, Home or End moves to from `at` in a list, wrapping around; undefined for
 * other keys.
 */
export function targetOf(key: string, [back, forth]: readonly [string, string], at: number, length: number) {
  if (key === "Home") return 0;
  if (key === "End") return length - 1;
  const step = key === forth ? 1 : key === back ? -1 : 0;
  return step === 0 ? undefined : (at + step + length) % length;
}
