/**
 * Shows two texts side by side, or one below the other if there is little room, with `@codemirror/merge` on the page's
 * own CodeMirror. Built as a separate file, which is loaded when the user views a difference (js/labextension.mjs).
 */
import { type Chunk, getChunks, getOriginalDoc, MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension, StateField, type Text } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  highlightSpecialChars,
  lineNumbers,
  WidgetType,
} from "@codemirror/view";
import { jupyterTheme } from "@jupyterlab/codemirror";
import { button, element } from "../element";
import type { Hunk } from "../view/store";

export interface Texts {
  name: string;
  before: string;
  after: string;
  /** Syntax colours, if the language has any. */
  language: Extension | undefined;
}

const UNCHANGED = { margin: 3, minSize: 8 };
/** Limits (milliseconds), so that two very different texts do not block the page. */
const DIFF = { scanLimit: 2_000, timeout: 500 };

export interface How {
  sideBySide: boolean;
  /** True if long unchanged stretches are shown, too. */
  allLines: boolean;
  /** Keeps or undoes a part; absent if the user decides the change as a whole. */
  decide?: ((how: "keep" | "undo", hunk: Hunk) => void) | undefined;
}

/** Draws the texts into `parent`. Returns a function that removes them. */
export function compare(parent: HTMLElement, texts: Texts, { sideBySide, allLines, decide }: How): () => void {
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
  // A lone `\r` ends a line here, but not in the file.
  const canDecide = decide && !/\r(?!\n)/.test(texts.before + texts.after);
  const hunks = (before: (state: EditorState) => Text): Extension[] => (canDecide ? [hunkBars(before, decide)] : []);
  if (sideBySide) {
    const before = EditorState.create({ doc: texts.before }).doc;
    const view = new MergeView({
      parent,
      a: { doc: texts.before, extensions: extensions("Before") },
      b: { doc: texts.after, extensions: [...extensions("After"), ...hunks(() => before)] },
      ...options,
    });
    return () => view.destroy();
  }
  const merged = unifiedMergeView({ original: texts.before, mergeControls: false, ...options });
  const view = new EditorView({
    parent,
    doc: texts.after,
    extensions: [...extensions("Changes"), merged, ...hunks(getOriginalDoc)],
  });
  return () => view.destroy();
}

interface Bars {
  readonly chunks: readonly Chunk[];
  readonly decorations: DecorationSet;
}

/** Shows two buttons above each part that differs. */
function hunkBars(before: (state: EditorState) => Text, decide: NonNullable<How["decide"]>): Extension {
  const bars = (state: EditorState): Bars => {
    const chunks = getChunks(state)?.chunks ?? [];
    const ranges = chunks.map((chunk, at) => {
      const widget = new HunkBar(at, chunks.length, hunkOf(chunk, before(state), state.doc), decide);
      return Decoration.widget({ widget, block: true, side: -10 }).range(Math.min(chunk.fromB, state.doc.length));
    });
    return { chunks, decorations: Decoration.set(ranges, true) };
  };
  return StateField.define<Bars>({
    create: bars,
    update: (previous, { state }) => (getChunks(state)?.chunks === previous.chunks ? previous : bars(state)),
    provide: (field) => EditorView.decorations.from(field, ({ decorations }) => decorations),
  });
}

/** Returns the lines of a part in both texts. */
export function hunkOf({ fromA, toA, fromB, toB }: Chunk, before: Text, after: Text): Hunk {
  return { before: [lineAt(before, fromA), lineAt(before, toA)], after: [lineAt(after, fromB), lineAt(after, toB)] };
}

/** Returns the line at an offset, from 0; beyond the text, the number of its lines. */
const lineAt = (text: Text, at: number): number => {
  if (at <= text.length) return text.lineAt(at).number - 1;
  return text.line(text.lines).length === 0 ? text.lines - 1 : text.lines;
};

class HunkBar extends WidgetType {
  readonly #at: number;
  readonly #total: number;
  readonly #hunk: Hunk;
  readonly #decide: NonNullable<How["decide"]>;

  constructor(at: number, total: number, hunk: Hunk, decide: NonNullable<How["decide"]>) {
    super();
    this.#at = at;
    this.#total = total;
    this.#hunk = hunk;
    this.#decide = decide;
  }

  override eq(other: WidgetType): boolean {
    return (
      other instanceof HunkBar &&
      JSON.stringify(other.#key) === JSON.stringify(this.#key) &&
      other.#decide === this.#decide
    );
  }

  get #key(): unknown {
    return [this.#at, this.#total, this.#hunk];
  }

  override toDOM(): HTMLElement {
    const place = `${this.#at + 1} of ${this.#total}`;
    const answer = (how: "keep" | "undo", word: string): HTMLButtonElement =>
      button(word, ({ detail }) => detail < 2 && this.#decide(how, this.#hunk), { label: `${word} part ${place}` });
    return element(
      "div",
      "agentnb-hunk-bar",
      element("span", "", place),
      answer("keep", "Keep"),
      answer("undo", "Undo"),
    );
  }

  override ignoreEvent(): boolean {
    return true;
  }
}
