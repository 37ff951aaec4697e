/**
 * Shows in a cell's own editor what an agent would change: removed lines are struck through, with the added lines below
 * them. Or what an agent has changed: the removed lines are above the added ones. The editor's text stays the same, and
 * the difference follows the user's typing. Uses `@codemirror/merge` on the page's own CodeMirror; loaded on demand.
 */
import { highlightingFor, language } from "@codemirror/language";
import { type Change, Chunk } from "@codemirror/merge";
import {
  Compartment,
  type EditorState,
  type Extension,
  type Range,
  StateEffect,
  StateField,
  Text,
} from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import { highlightTree } from "@lezer/highlight";
import { element } from "../element";

/** Limits (milliseconds), so that two very different texts do not block the page. */
const DIFF = { scanLimit: 2_000, timeout: 200 };
/** Longer additions have no colours. */
const LONGEST_COLOURED = 5_000;

/** The kind of the other text: `proposed` may replace the editor's text, `before` was replaced by it. */
type When = "proposed" | "before";

interface Shown {
  readonly chunks: readonly Chunk[];
  readonly decorations: DecorationSet;
}

/** One compartment per editor: an added extension can be changed, but not removed. */
const places = new WeakMap<EditorView, Compartment>();
/** If a cell has two proposals, the later one is shown. */
const latest = new WeakMap<EditorView, CellDifference>();

export class CellDifference {
  readonly #view: EditorView;
  readonly #field: StateField<Shown>;

  /** Shows the difference between `other` and the text of `view`, and updates it. */
  constructor(view: EditorView, other: string, when: When = "proposed") {
    this.#view = view;
    this.#field = difference(Text.of(other.split(/\r\n?|\n/)), when);
    latest.set(view, this);
    put(view, this.#field.extension);
  }

  /** The positions in the editor's text where changes begin. */
  get changes(): readonly number[] {
    const { state } = this.#view;
    const chunks = state.field(this.#field, false)?.chunks ?? [];
    return chunks.map(({ fromA }) => Math.min(fromA, state.doc.length));
  }

  scrollTo(position: number): void {
    this.#view.dispatch({ effects: EditorView.scrollIntoView(position, { y: "center" }) });
  }

  remove(): void {
    if (latest.get(this.#view) === this) put(this.#view, []);
  }
}

function put(view: EditorView, extension: Extension): void {
  const known = places.get(view);
  const place = known ?? new Compartment();
  places.set(view, place);
  view.dispatch({ effects: known ? place.reconfigure(extension) : StateEffect.appendConfig.of(place.of(extension)) });
}

function difference(other: Text, when: When): StateField<Shown> {
  const decorate = (doc: Text): Shown => {
    const chunks = Chunk.build(ended(doc), ended(other), DIFF);
    const ranges = chunks.flatMap((chunk) => [...present(doc, chunk, when), ...absent(doc, other, chunk, when)]);
    return { chunks, decorations: Decoration.set(ranges, true) };
  };
  return StateField.define<Shown>({
    create: (state) => decorate(state.doc),
    update: (value, { docChanged, newDoc }) => (docChanged ? decorate(newDoc) : value),
    provide: (field) => EditorView.decorations.from(field, ({ decorations }) => decorations),
  });
}

/** Adds a final line break: without it, a line that becomes the last one would differ. */
const ended = (text: Text): Text => text.append(Text.of(["", ""]));

const classOf = (isLater: boolean, what: string): string => `agentnb-${isLater ? "new" : "old"}-${what}`;

/** Marks the editor's lines that the other text lacks. */
function present(doc: Text, { fromA, toA, endA, changes }: Chunk, when: When): Range<Decoration>[] {
  if (fromA >= toA || (doc.length === 0 && fromA === 0)) return [];
  const ranges: Range<Decoration>[] = [];
  for (let line = doc.lineAt(fromA); ; line = doc.lineAt(line.to + 1)) {
    ranges.push(Decoration.line({ class: classOf(when === "before", "line") }).range(line.from));
    if (line.to >= endA) break;
  }
  for (const change of changes) {
    const [from, to] = [fromA + change.fromA, Math.min(fromA + change.toA, endA)];
    if (from < to) ranges.push(Decoration.mark({ class: classOf(when === "before", "text") }).range(from, to));
  }
  return ranges;
}

/** Shows the other text's lines that the editor lacks. */
function absent(
  doc: Text,
  other: Text,
  { fromA, toA, endA, fromB, toB, endB, changes }: Chunk,
  when: When,
): Range<Decoration>[] {
  if (fromB >= toB) return [];
  const isPart = fromA < toA;
  const isBelow = (isPart && when === "proposed") || fromA > doc.length;
  const at = isBelow ? Math.min(endA, doc.length) : fromA;
  const widget = new OtherLines(other.sliceString(fromB, endB), isPart ? changes : [], when);
  return [Decoration.widget({ widget, block: true, side: isBelow ? 1 : -1 }).range(at)];
}

/** Lines of the other text, in the colours of the cell's language. */
class OtherLines extends WidgetType {
  readonly #text: string;
  readonly #changes: readonly Change[];
  readonly #isLater: boolean;

  constructor(text: string, changes: readonly Change[], when: When) {
    super();
    this.#isLater = when === "proposed";
    this.#text = text;
    this.#changes = changes;
  }

  override eq(other: WidgetType): boolean {
    return other instanceof OtherLines && other.#text === this.#text && other.#changes === this.#changes;
  }

  override toDOM({ state }: EditorView): HTMLElement {
    const lines = linesOf(this.#text, this.#pieces(state), this.#isLater ? "ins" : "del");
    return element("div", classOf(this.#isLater, "lines"), ...lines);
  }

  #pieces(state: EditorState): MarkedRange[] {
    const pieces: MarkedRange[] = this.#changes
      .filter(({ fromB, toB }) => fromB < toB)
      .map(({ fromB, toB }) => ({ from: fromB, to: toB, classes: classOf(this.#isLater, "text") }));
    const parser = this.#text.length > LONGEST_COLOURED ? undefined : state.facet(language)?.parser;
    if (parser)
      highlightTree(parser.parse(this.#text), { style: (tags) => highlightingFor(state, tags) }, (from, to, classes) =>
        pieces.push({ from, to, classes }),
      );
    return pieces;
  }
}

interface MarkedRange {
  readonly from: number;
  readonly to: number;
  readonly classes: string;
}

/** Returns the text as lines of spans; never parses it as HTML. */
function linesOf(text: string, pieces: readonly MarkedRange[], tag: "ins" | "del"): HTMLElement[] {
  const ends = new Set(pieces.flatMap(({ from, to }) => [from, to]));
  let start = 0;
  return text.split("\n").map((line) => {
    const node = element(tag);
    const end = start + line.length;
    const cuts = [start, ...[...ends].filter((at) => at > start && at < end).sort((a, b) => a - b), end];
    for (let index = 0; index + 1 < cuts.length; index++) {
      const [from, to] = [cuts[index] as number, cuts[index + 1] as number];
      const classes = pieces.filter((piece) => piece.from <= from && to <= piece.to).map((piece) => piece.classes);
      node.append(element("span", classes.join(" "), text.slice(from, to)));
    }
    start = end + 1;
    return node;
  });
}
