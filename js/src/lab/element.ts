/** Elements of the page outside the chat's views, where there is no Preact. */

interface Marks {
  class?: string;
  text?: string;
  role?: string;
  /** What it is called where its text does not say it. */
  label?: string;
}

/** An element with what is in it; text in it is never taken for HTML. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  { class: className, text, role, label }: Marks = {},
  ...children: readonly Node[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  if (role) made.setAttribute("role", role);
  if (label) made.setAttribute("aria-label", label);
  made.append(...children);
  return made;
}

/** A button; `marks.text` is its name. */
export function button(marks: Marks, onClick: (event: MouseEvent) => void): HTMLButtonElement {
  const made = element("button", marks);
  made.type = "button";
  made.addEventListener("click", onClick);
  return made;
}

/** Adds a style sheet to the page. */
export function addStyles(css: string): void {
  document.head.append(element("style", { text: css }));
}
