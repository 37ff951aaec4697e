/**
 * What a cell says to an agent is text, not Python: the colours of `%agent` lines and `%%agent` cells are taken away in the
 * editor. Only the lines that are in sight are looked at, so a long cell costs what a short one does.
 */
import type { EditorState, Extension, Range } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin } from "@codemirror/view";

/** A line that speaks to an agent; before it may stand a name that takes the turn: `turn = %agent …`. */
const LINE = /^\s*(?:[\w.]+(?:\s*,\s*[\w.]+)*\s*=\s*)?(?=%agents?(?:\s|$))/;
const CELL = /^%%agent(?:\s|$)/;
/** What is looked at of a line. */
const LONGEST_START = 300;
const TEXT = Decoration.mark({ class: "agentnb-agent-text" });

/** The ranges that are text for an agent within a part of the document. */
export function agentTexts(state: EditorState, from: number, to: number): [from: number, to: number][] {
  const { doc } = state;
  const isCell = CELL.test(doc.line(1).text.slice(0, LONGEST_START));
  const found: [number, number][] = [];
  for (let at = from; at <= to; ) {
    const line = doc.lineAt(at);
    const start = isCell
      ? ""
      : LINE.exec(doc.sliceString(line.from, Math.min(line.to, line.from + LONGEST_START)))?.[0];
    if (start !== undefined && line.from + start.length < line.to) found.push([line.from + start.length, line.to]);
    at = line.to + 1;
  }
  return found;
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
