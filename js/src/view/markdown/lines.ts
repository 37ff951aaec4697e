/** What a line of Markdown can begin, and its white space. */

export const BLANK = /^[ \t]*$/;
export const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})$/;
export const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
export const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
export const FENCE = /^( {0,3})(`{3,}(?!.*`)|~{3,})(.*)$/;
export const QUOTE = /^ {0,3}>/;
export const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?=[ \t]|$)/;
const NAMES =
  "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|meta|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul";
export const HTML = new RegExp(
  `^ {0,3}<(?:(script|pre|style|textarea)(?:[\\s>]|$)|(!--)|(\\?)|(![A-Za-z])|(!\\[CDATA\\[)|/?(?:${NAMES})(?:[ \\t]|/?>|$))`,
  "i",
);

/** A line without its container's mark is text, also where it looks like a heading's underline. */
export function lazy(line: string): string {
  return UNDERLINE.test(line) ? `\\${line.trimStart()}` : line.trimStart();
}

const MARKS = 32;

/** A line without the marks of the containers inside. */
export function bareOf(line: string): string {
  let bare = line;
  for (let left = MARKS; left > 0; left -= 1) {
    const mark = QUOTE.exec(bare) ?? (RULE.test(bare) ? null : ITEM.exec(bare));
    if (!mark) break;
    bare = bare.slice(mark[0].length).replace(/^[ \t]/, "");
  }
  return bare;
}

/** Whether a line ends the paragraph before it. */
export function interrupts(line: string): boolean {
  if (indentOf(line) >= 4) return false;
  if (HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || FENCE.test(line) || HTML.test(line)) return true;
  const item = ITEM.exec(line);
  if (!item) return false;
  const [whole, , mark = ""] = item;
  return !BLANK.test(line.slice(whole.length)) && (mark.length === 1 || /^1[.)]$/.test(mark));
}

/** The columns of white space at the start of a line that begins at column `from`. */
export function indentOf(line: string, from = 0): number {
  let column = from;
  for (const mark of line) {
    if (mark === "\t") column += 4 - (column % 4);
    else if (mark === " ") column += 1;
    else break;
  }
  return column;
}

/** The line without up to `width` columns of white space at its start. */
export function stripped(line: string, width: number, from = 0): string {
  let column = from;
  let at = 0;
  while (at < line.length && column < from + width) {
    if (line[at] === " ") column += 1;
    else if (line[at] === "\t") column += 4 - (column % 4);
    else break;
    at += 1;
  }
  return " ".repeat(Math.max(0, column - from - width)) + line.slice(at);
}

/** The cells of a table's row; a bar behind a backslash is no border. */
export function cells(row: string): string[] {
  const inner = row.trim().replace(/^\|/, "");
  const found: string[] = [];
  let from = 0;
  for (let at = 0; at < inner.length; at += 1) {
    if (inner[at] === "\\") at += 1;
    else if (inner[at] === "|") {
      found.push(inner.slice(from, at));
      from = at + 1;
    }
  }
  if (inner.slice(from).trim() !== "" || found.length === 0) found.push(inner.slice(from));
  return found.map((cell) => cell.trim().replaceAll("\\|", "|"));
}
