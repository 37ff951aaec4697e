/**
 * Translates the kernel's texts into the page's language. They carry no message id, so each is compared with the
 * messages: as a whole, or sentence by sentence, with any text in place of a message's values.
 */
type Pattern = readonly [form: RegExp, id: string, places: readonly number[]];

const SENTENCES = /(?<=[.!?]) (?=[\p{Lu}`'"])/u;
const PLACE = /\{(\d)\}/;

export function kernelSentences(
  messages: readonly string[],
  gettext: (id: string) => string,
): (text: string) => string {
  const patterns = messages.flatMap(patternOf);
  const find = (text: string): string | undefined => {
    const exact = gettext(text);
    if (exact !== text) return exact;
    for (const [form, id, places] of patterns) {
      const values = form.exec(text)?.slice(1);
      if (!values) continue;
      const of = new Map(places.map((place, at) => [place, values[at] ?? ""]));
      return gettext(id).replace(/\{(\d)\}/g, (mark, at) => of.get(Number(at)) ?? mark);
    }
    return undefined;
  };
  return (text) => {
    // A value would match the next sentence, too, so the whole text comes last.
    const sentences = text.split(SENTENCES).map((sentence) => find(sentence) ?? sentence);
    const joined = sentences.join(" ");
    return gettext(text) !== text || joined === text ? (find(text) ?? text) : joined;
  };
}

/** Returns no pattern for a message without values, or with hardly any other text. */
function patternOf(id: string): Pattern[] {
  const pieces = id.split(PLACE);
  const texts = pieces.filter((_, at) => at % 2 === 0);
  if (pieces.length === 1 || (texts.join("").match(/\p{L}{3,}/gu) ?? []).length < 2) return [];
  const form = texts.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("([^]*?)");
  return [[new RegExp(`^${form}$`), id, pieces.filter((_, at) => at % 2 === 1).map(Number)]];
}
