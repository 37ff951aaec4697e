/**
 * Shows in a cell's own editor what an agent would make of its text: lines that would go are struck, and below them
 * stand those that would come. Or what an agent has made of it: then the lines that went stand above those that came. The editor stays the user's: nothing of it is changed, and the difference follows what
 * they type. Built with `@codemirror/merge` on the page's own CodeMirror, as a part that is loaded when it is wanted.
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

/** So that two texts that differ in everything do not hold up the page, in milliseconds. */
const DIFF = { scanLimit: 2_000, timeout: 200 };
/** Longer additions have no colours. */
const LONGEST_COLOURED = 5_000;

/** Which text the other one is: `proposed` may take the editor's place, `before` had it. */
type When = "proposed" | "before";

interface Shown {
  readonly chunks: readonly Chunk[];
  readonly decorations: DecorationSet;
}

/** One place in each editor: what was put there once can be changed and not be taken away. */
const places = new WeakMap<EditorView, Compartment>();
/** Of two proposals for a cell the later one is shown. */
const latest = new WeakMap<EditorView, CellDifference>();

export class CellDifference {
  readonly #view: EditorView;
  readonly #field: StateField<Shown>;

  /** Shows the difference between what is in `view`, now and later, and `other`: a text to come, or the one before. */
  constructor(view: EditorView, other: string, when: When = "proposed") {
    this.#view = view;
    this.#field = difference(Text.of(other.split(/\r\n?|\n/)), when);
    latest.set(view, this);
    put(view, this.#field.extension);
  }

  /** Where the changes begin in the editor's text. */
  get changes(): readonly number[] {
    const { state } = this.#view;
    const chunks = state.field(this.#field, false)?.chunks ?? [];
    return chunks.map(({ fromA }) => Math.min(fromA, state.doc.length));
  }

  scrollTo(position: number): void {
    this.#view.dispatch({ effects: EditorView.scrollIntoView(position, { y: "center" }) });
  }

  /** Takes it away. */
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
  const shown = (doc: Text): Shown => {
    const chunks = Chunk.build(ended(doc), ended(other), DIFF);
    const ranges = chunks.flatMap((chunk) => [...present(doc, chunk, when), ...absent(doc, other, chunk, when)]);
    return { chunks, decorations: Decoration.set(ranges, true) };
  };
  return StateField.define<Shown>({
    create: (state) => shown(state.doc),
    update: (value, { docChanged, newDoc }) => (docChanged ? shown(newDoc) : value),
    provide: (field) => EditorView.decorations.from(field, ({ decorations }) => decorations),
  });
}

/** With a line break behind the last line: without it a line that becomes the last one would be another. */
const ended = (text: Text): Text => text.append(Text.of(["", ""]));

/** The class of lines and of text: of the later version they are new, of the earlier one old. */
const classOf = (isLater: boolean, what: string): string => `agentnb-${isLater ? "new" : "old"}-${what}`;

/** The lines of the editor that the other text has not. */
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

/** The lines of the other text that the editor has not. */
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

  /** From where to where which classes hold. */
  #pieces(state: EditorState): Piece[] {
    const pieces: Piece[] = this.#changes
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

interface Piece {
  readonly from: number;
  readonly to: number;
  readonly classes: string;
}

/** Text as lines of spans; nothing in it is taken for HTML. */
function linesOf(text: string, pieces: readonly Piece[], tag: "ins" | "del"): HTMLElement[] {
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
