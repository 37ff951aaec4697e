/** What a quote or a list item holds. */
import { BLANK, bareOf, FENCE, HEADING, ITEM, indentOf, interrupts, RULE } from "./lines";

/** The lines of a container, and whether a line without its mark can still belong to its last paragraph. */
export class Body {
  readonly lines: string[] = [];
  #fence: string | undefined;

  push(line: string): void {
    const bare = bareOf(line);
    const mark = FENCE.exec(bare)?.[2];
    if (mark && this.#fence === undefined) this.#fence = mark;
    else if (this.#fence !== undefined && mark?.startsWith(this.#fence) && BLANK.test(bare.replace(/[`~]/g, "")))
      this.#fence = undefined;
    this.lines.push(line);
  }

  takes(line: string): boolean {
    const last = this.lines.at(-1);
    if (last === undefined || this.#fence !== undefined || BLANK.test(line)) return false;
    if (interrupts(line) || (ITEM.test(line) && indentOf(line) < 4)) return false;
    const bare = bareOf(last);
    return !BLANK.test(bare) && !HEADING.test(bare) && !RULE.test(bare) && !FENCE.test(bare) && indentOf(bare) < 4;
  }
}
