/**
 * Text nodes that grow: what is new is appended, so that a selection in them survives.
 *
 * Preact sets `data` anew, which collapses every range inside. The nodes of the block that is being written get a setter
 * of their own that only touches what has changed.
 */

const DATA = Object.getOwnPropertyDescriptor(CharacterData.prototype, "data") as Required<
  Pick<PropertyDescriptor, "get" | "set">
>;
const made = new WeakSet<Node>();

const GROWING: PropertyDescriptor = {
  configurable: true,
  get(this: Text): string {
    return DATA.get.call(this) as string;
  },
  set(this: Text, next: string) {
    const old = DATA.get.call(this) as string;
    let same = next.startsWith(old) ? old.length : 0;
    if (same === 0) while (same < old.length && old[same] === next[same]) same += 1;
    this.replaceData(same, old.length - same, next.slice(same));
  },
};

/** Makes the text nodes in `element` keep what is selected in them. */
export function keepSelections(element: Element): void {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (made.has(node)) continue;
    made.add(node);
    Object.defineProperty(node, "data", GROWING);
  }
}
