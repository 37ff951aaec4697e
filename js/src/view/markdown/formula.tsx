/** A formula: its source until it can be drawn, and where it cannot be drawn at all. */
import { signal } from "@preact/signals";
import { useContext, useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { ViewContext } from "../context";
import { memo } from "../memo";
import { line, plain, reason } from "../plain";
import type { Store } from "../store";

type Draw = (into: Element, source: string, isDisplay: boolean) => void;

let fetched: Promise<unknown> | undefined;
/** What draws formulas (`js/src/math.ts`), once it is here. */
const drawer = signal<{ draw: Draw } | undefined>(undefined);

function needMath(fetch: Store["module"]): void {
  if (fetched || !fetch) return;
  fetched = fetch("math").then(({ default: draw }) => {
    drawer.value = { draw: draw as Draw };
  }, console.debug);
}

interface Props {
  /** As it was written, with its delimiters. */
  raw: string;
  source: string;
  isDisplay: boolean;
}

/** A wide formula scrolls; a short one in a line of text has nothing to scroll. */
const SHORT = 40;

export const Formula = memo(({ raw, source, isDisplay }: Props) => {
  const { store } = useContext(ViewContext);
  const element = useRef<HTMLElement>(null);
  useEffect(() => needMath(store?.module), [store]);
  const there = drawer.value;
  useLayoutEffect(() => {
    const into = element.current as HTMLElement;
    into.title = "";
    try {
      if (there) return there.draw(into, source, isDisplay);
    } catch (error) {
      into.title = line(`This formula can't be drawn. ${reason(error)}`, 300);
    }
    into.textContent = plain(raw);
  }, [raw, source, isDisplay, there]);
  // The child nodes are the effect's.
  return (
    <span
      class={isDisplay ? "math display" : "math"}
      ref={element}
      tabIndex={isDisplay || source.length > SHORT ? 0 : undefined}
    />
  );
});
