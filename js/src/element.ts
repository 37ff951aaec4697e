/** Elements where there is no Preact: in the JupyterLab extension, and in small modules that are fetched. */

interface Marks {
  class?: string;
  role?: string;
  /** What it is called where its text does not say it. */
  label?: string;
}

/** An element with a class, or more marks, and what is in it; text in it is never taken for HTML. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  marks: string | Marks = "",
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  const { class: className, role, label } = typeof marks === "string" ? { class: marks } : marks;
  if (className) made.className = className;
  if (role) made.setAttribute("role", role);
  if (label) made.setAttribute("aria-label", label);
  made.append(...children.filter((child) => child !== ""));
  return made;
}

export function button(name: string, onClick: (event: MouseEvent) => void, marks: string | Marks = "") {
  const made = element("button", marks, name);
  made.type = "button";
  made.addEventListener("click", onClick);
  return made;
}

/** Adds a style sheet to the page. */
export function addStyles(css: string): void {
  document.head.append(element("style", "", css));
}
