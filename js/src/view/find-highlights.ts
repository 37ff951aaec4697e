/** Marks found words in place (CSS Custom Highlight API); where the browser has none, the turn is only gone to. */

const NAME = "agentnb-find";
const MOST = 200;

interface Highlights {
  get(name: string): Set<Range> | undefined;
  set(name: string, ranges: Set<Range>): void;
}

function registry(): { all: Highlights; make: new () => Set<Range> } | undefined {
  const all = (globalThis.CSS as unknown as { highlights?: Highlights } | undefined)?.highlights;
  const make = (globalThis as unknown as { Highlight?: new () => Set<Range> }).Highlight;
  return all && make ? { all, make } : undefined;
}

/** Takes the marks of this view away. */
export function unmark(root: ShadowRoot): void {
  const ranges = registry()?.all.get(NAME);
  for (const range of [...(ranges ?? [])]) if (range.startContainer.getRootNode() === root) ranges?.delete(range);
}

/** Marks `words` in the turn's drawn text. */
export function mark(root: ShadowRoot, turnId: string, words: string): void {
  unmark(root);
  const highlights = registry();
  const turn = [...root.querySelectorAll<HTMLElement>("[data-turn]")].find((one) => one.dataset.turn === turnId);
  const wanted = words.trim().toLowerCase();
  if (!highlights || !turn || wanted === "") return;
  const ranges = highlights.all.get(NAME) ?? new highlights.make();
  const walker = document.createTreeWalker(turn, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.size < MOST; node = walker.nextNode()) {
    const text = (node.nodeValue ?? "").toLowerCase();
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(node, Math.min(at, node.nodeValue?.length ?? 0));
      range.setEnd(node, Math.min(at + wanted.length, node.nodeValue?.length ?? 0));
      ranges.add(range);
    }
  }
  highlights.all.set(NAME, ranges);
}
