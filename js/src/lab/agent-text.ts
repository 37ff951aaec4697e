/**
 * Removes the Python colours from `%agent` lines and `%%agent` cells in the editor, because they are text. Only visible
 * lines are searched, so a long cell costs no more than a short one.
 */
import type { EditorState, Extension, Range } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin } from "@codemirror/view";

/** The beginning of an `%agent` line, also after an assignment: `turn = %agent …`. */
const LINE = /^\s*(?:[\w.]+(?:\s*,\s*[\w.]+)*\s*=\s*)?(?=%agents?(?:\s|$))/;
const CELL = /^%%agent(?:\s|$)/;
/** Characters searched per line. */
const LONGEST_START = 300;
const TEXT = Decoration.mark({ class: "agentnb-agent-text" });

/** Returns the ranges of text for an agent between two positions. */
export function agentTexts(state: EditorState, from: number, to: number): [from: number, to: number][] {
  const { doc } = state;
  const isCell = CELL.test(doc.line(1).text.slice(0, LONGEST_START));
  const ranges: [number, number][] = [];
  for (let at = from; at <= to; ) {
    const line = doc.lineAt(at);
    const start = isCell
      ? ""
      : LINE.exec(doc.sliceString(line.from, Math.min(line.to, line.from + LONGEST_START)))?.[0];
    if (start !== undefined && line.from + start.length < line.to) ranges.push([line.from + start.length, line.to]);
    at = line.to + 1;
  }
  return ranges;
}

function drawn(view: EditorView): DecorationSet {
  const ranges: Range<Decoration>[] = [];
  for (const { from, to } of view.visibleRanges)
    for (const range of agentTexts(view.state, from, to)) ranges.push(TEXT.range(...range));
  return Decoration.set(ranges, true);
}

const marks = ViewPlugin.define(
  (view) => ({
    decorations: drawn(view),
    update(update) {
      if (update.docChanged || update.viewportChanged) this.decorations = drawn(update.view);
    },
  }),
  { decorations: (value) => value.decorations },
);

const looks = EditorView.baseTheme({
  ".agentnb-agent-text, .agentnb-agent-text *": {
    color: "var(--jp-content-font-color1) !important",
    fontStyle: "normal !important",
    fontWeight: "normal !important",
    textDecoration: "none !important",
  },
});

export const agentTextExtension: Extension = [marks, looks];
