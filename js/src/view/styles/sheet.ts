/** The styles of a view: one constructed sheet per document, shared by all its shadow roots. */
import base from "./base.css";
import changes from "./changes.css";
import chat from "./chat.css";
import code from "./code.css";
import container from "./container.css";
import controls from "./controls.css";
import diff from "./diff.css";
import foot from "./foot.css";
import forms from "./forms.css";
import markdown from "./markdown.css";
import meter from "./meter.css";
import parts from "./parts.css";
import permission from "./permission.css";
import plan from "./plan.css";
import preferences from "./preferences.css";
import tabs from "./tabs.css";
import tools from "./tools.css";
import transcript from "./transcript.css";
import turn from "./turn.css";

// The order matters: later styles override earlier ones.
const CSS = [
  base,
  controls,
  preferences,
  markdown,
  code,
  parts,
  tools,
  diff,
  changes,
  permission,
  plan,
  container,
  tabs,
  transcript,
  foot,
  forms,
  meter,
  chat,
  turn,
].join("\n");

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
