/** Syntax colours of code that is short enough; `js/src/highlighting.ts` makes them, once it is fetched. */
import { signal } from "@preact/signals";
import type { Run } from "../../highlighting";
import type { Store } from "../store";

type Highlight = (code: string, language: string) => Run[] | undefined;

let isAsked = false;
const highlighting = signal<Highlight>();

/** Fetches what colours code, once for the page; where that fails, code stays plain until more of it is shown. */
export function needHighlighting(language: string | undefined, fetch: Store["module"]): void {
  if (!language || isAsked || !fetch) return;
  isAsked = true;
  fetch("highlighting").then(
    ({ default: highlight }) => {
      highlighting.value = highlight as Highlight;
    },
    (error) => {
      isAsked = false;
      console.debug(error);
    },
  );
}

/** Longer code stays plain: grammars take up to a millisecond per hundred characters. */
const LONGEST = 30_000;
const LONGEST_LINE = 2_000;

/** The pieces of `code`, or undefined where it stays plain; what draws them is drawn again when the colours are there. */
export function highlight(code: string, language: string | undefined): Run[] | undefined {
  const coloured = highlighting.value;
  if (!language || !coloured || code.length > LONGEST) return undefined;
  if (code.split("\n").some((line) => line.length > LONGEST_LINE)) return undefined;
  return coloured(code, language);
}
