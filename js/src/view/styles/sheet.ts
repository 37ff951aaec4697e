/** The styles of a view: one constructed sheet per document, shared by all its shadow roots. */
import base from "./base.css";
import chat from "./chat.css";
import code from "./code.css";
import markdown from "./markdown.css";
import parts from "./parts.css";

const CSS = [base, markdown, code, parts, chat].join("\n");

let shared: CSSStyleSheet | undefined;

export function addStyles(root: ShadowRoot): void {
  if (typeof CSSStyleSheet !== "function" || !("replaceSync" in CSSStyleSheet.prototype)) {
    root.appendChild(document.createElement("style")).textContent = CSS;
    return;
  }
  if (!shared) {
    shared = new CSSStyleSheet();
    shared.replaceSync(CSS);
  }
  root.adoptedStyleSheets = [shared];
}
