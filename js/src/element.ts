/** Creates elements without Preact: for the JupyterLab extension, and for small modules that are fetched. */

interface Marks {
  class?: string;
  role?: string;
  /** Its accessible name, if its text does not give one. */
  label?: string;
}

/** Creates an element with a class or more marks, and children; a string child is never parsed as HTML. */
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

/**
 * Shows `nodes` in `parent`. A node that equals one that is there leaves it there, so that it keeps the focus and a click
 * that has begun. So nodes that look the same must do the same.
 */
export function renew(parent: Element, ...nodes: readonly Node[]): void {
  let at = parent.firstChild;
  const removeUntil = (end: ChildNode | null): void => {
    while (at !== end) {
      const next: ChildNode | null = at?.nextSibling ?? null;
      at?.remove();
      at = next;
    }
  };
  for (const node of nodes) {
    let same = at;
    while (same && !same.isEqualNode(node)) same = same.nextSibling;
    if (same) {
      removeUntil(same);
      at = same.nextSibling;
    } else parent.insertBefore(node, at);
  }
  removeUntil(null);
}

/** Returns text, with the parts between backticks as code. */
export function coded(text: string): (Node | string)[] {
  return text.split("`").map((piece, at) => (at % 2 ? element("code", "", piece) : piece));
}

export function addStyles(css: string): void {
  document.head.append(element("style", "", css));
}
