/**
 * Shows two texts side by side, or one below the other where there is little room: `@codemirror/merge` with the page's own
 * CodeMirror. Built as a file of its own, which is loaded when a difference is looked at (js/labextension.mjs).
 */
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars, lineNumbers } from "@codemirror/view";
import { jupyterTheme } from "@jupyterlab/codemirror";

export interface Texts {
  name: string;
  before: string;
  after: string;
  /** The colours of its language, where there are some. */
  language: Extension | undefined;
}

const UNCHANGED = { margin: 3, minSize: 8 };
/** So that two texts that differ in everything do not hold up the page, in milliseconds. */
const DIFF = { scanLimit: 2_000, timeout: 500 };

export interface How {
  sideBySide: boolean;
  /** Whether long stretches of the same lines are shown, too. */
  allLines: boolean;
}

/** Draws them into `parent`; the result takes them away. */
export function compare(parent: HTMLElement, texts: Texts, { sideBySide, allLines }: How): () => void {
  const options = { diffConfig: DIFF, ...(allLines ? {} : { collapseUnchanged: UNCHANGED }) };
  const extensions = (label: string): Extension[] => [
    jupyterTheme,
    lineNumbers(),
    highlightSpecialChars(),
    EditorView.lineWrapping,
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.contentAttributes.of({
      "aria-label": `${label}: ${texts.name}`,
      "aria-readonly": "true",
      tabindex: "0",
    }),
    ...(texts.language ? [texts.language] : []),
  ];
  if (sideBySide) {
    const view = new MergeView({
      parent,
      a: { doc: texts.before, extensions: extensions("Before") },
      b: { doc: texts.after, extensions: extensions("After") },
      ...options,
    });
    return () => view.destroy();
  }
  const merged = unifiedMergeView({ original: texts.before, mergeControls: false, ...options });
  const view = new EditorView({ parent, doc: texts.after, extensions: [...extensions("Changes"), merged] });
  return () => view.destroy();
}
