/** Character references (`&amp;`, `&#8594;`) to the characters they stand for. */

const REFERENCE = /&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});/g;
const known = new Map<string, string>();

export function unescapeEntities(text: string): string {
  return text.includes("&") ? text.replace(REFERENCE, decode) : text;
}

/** One reference by the browser's own table; the pattern lets nothing else through to the parser. */
function decode(reference: string): string {
  let decoded = known.get(reference);
  if (decoded === undefined) {
    decoded = new DOMParser().parseFromString(reference, "text/html").documentElement.textContent ?? reference;
    if (known.size < 500) known.set(reference, decoded);
  }
  return decoded;
}
