/**
 * The page's language: JupyterLab's catalogue for this extension (the domain `agentnb`), if its language is not
 * English. The build wraps the texts that people read in these functions (js/translate.mjs); no source calls them.
 */
interface Catalogue {
  gettext(id: string): string;
  ngettext(id: string, plural: string, number: number): string;
  /** Set once all messages are loaded (`lab/translated.ts`). */
  kernelText?(sentence: string): string;
}

const catalogue = (): Catalogue | undefined => (globalThis as { agentnbCatalogue?: Catalogue }).agentnbCatalogue;
const filled = (text: string, values: readonly unknown[]): string =>
  text.replace(/\{(\d)\}/g, (mark, at) => (Number(at) < values.length ? String(values[Number(at)]) : mark));

/** A message, with values for `{0}`, `{1}` … */
export const text = (id: string, ...values: unknown[]): string => filled(catalogue()?.gettext(id) ?? id, values);

/** The message for a number. */
export const plural = (number: number, one: string, many: string, ...values: unknown[]): string =>
  filled(catalogue()?.ngettext(one, many, number) ?? (number === 1 ? one : many), values);

/** Translates a sentence of the kernel: finds its message by its form. */
export const kernelText = (sentence: string): string => catalogue()?.kernelText?.(sentence) ?? sentence;

/** A message with elements in it: its pieces and the elements. */
export const nodes = (id: string, ...values: unknown[]): unknown[] =>
  (catalogue()?.gettext(id) ?? id).split(/\{(\d)\}/).map((piece, at) => (at % 2 ? values[Number(piece)] : piece));
