/**
 * The page's language: JupyterLab's catalogue for this extension (the domain `agentnb`), where its language is not English.
 * The build puts these functions round what people read (js/translate.mjs); no source calls them.
 */
interface Catalogue {
  /** All messages, once they are there. */
  messages?: readonly string[];
  gettext(id: string): string;
  ngettext(id: string, plural: string, number: number): string;
}

const catalogue = (): Catalogue | undefined => (globalThis as { agentnbCatalogue?: Catalogue }).agentnbCatalogue;
const filled = (text: string, values: readonly unknown[]): string =>
  text.replace(/\{(\d)\}/g, (mark, at) => (Number(at) < values.length ? String(values[Number(at)]) : mark));

/** A message, with values in the place of `{0}`, `{1}` … */
export const text = (id: string, ...values: unknown[]): string => filled(catalogue()?.gettext(id) ?? id, values);

/** The message for a number. */
export const plural = (number: number, one: string, many: string, ...values: unknown[]): string =>
  filled(catalogue()?.ngettext(one, many, number) ?? (number === 1 ? one : many), values);

type Pattern = readonly [form: RegExp, id: string, places: readonly number[]];
const patternsOf = new WeakMap<readonly string[], Pattern[]>();
const SENTENCES = /(?<=[.!?]) (?=[\p{Lu}`'"])/u;

/** What the kernel says: a message whole, or each of its sentences, with whatever stands where a message has a value. */
export function kernelText(said: string): string {
  const whole = found(said);
  return (
    whole ??
    said
      .split(SENTENCES)
      .map((sentence) => found(sentence) ?? sentence)
      .join(" ")
  );
}

function found(said: string): string | undefined {
  const known = catalogue();
  const exact = known?.gettext(said) ?? said;
  if (exact !== said) return exact;
  const messages = known?.messages ?? [];
  const patterns = patternsOf.get(messages) ?? messages.flatMap(patternOf);
  patternsOf.set(messages, patterns);
  for (const [form, id, places] of patterns) {
    const values = form.exec(said)?.slice(1);
    if (!values) continue;
    const byPlace: string[] = [];
    places.forEach((place, at) => {
      byPlace[place] = values[at] ?? "";
    });
    return filled(known?.gettext(id) ?? id, byPlace);
  }
  return undefined;
}

/** None of a message without a value, or of one that is hardly more than its values. */
function patternOf(id: string): Pattern[] {
  const pieces = id.split(/\{(\d)\}/);
  const texts = pieces.filter((_, at) => at % 2 === 0);
  if (pieces.length === 1 || (texts.join("").match(/\p{L}{3,}/gu) ?? []).length < 2) return [];
  const form = texts.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("([^]*?)");
  return [[new RegExp(`^${form}$`), id, pieces.filter((_, at) => at % 2 === 1).map(Number)]];
}

/** A message with elements in it: its pieces, and they. */
export const nodes = (id: string, ...values: unknown[]): unknown[] =>
  (catalogue()?.gettext(id) ?? id).split(/\{(\d)\}/).map((piece, at) => (at % 2 ? values[Number(piece)] : piece));
