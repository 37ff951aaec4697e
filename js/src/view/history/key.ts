/**
 * Alt+H, which opens the history and closes it. By its place on the keyboard: with Option it is another letter on a Mac.
 */
export function isHistoryKey({ code, altKey, ctrlKey, metaKey, shiftKey }: KeyboardEvent): boolean {
  return code === "KeyH" && altKey && !ctrlKey && !metaKey && !shiftKey;
}
