/** Which conversations are on screen in the views of a store: nobody needs to be called to what they are looking at. */
import { type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useView } from "./context";
import type { Store } from "./store";

const shown = new WeakMap<Store, Signal<readonly string[]>>();

/** The conversations on screen, once for each view that shows one. */
export function onScreen(store: Store): Signal<readonly string[]> {
  const known = shown.get(store) ?? signal<readonly string[]>([]);
  shown.set(store, known);
  return known;
}

/** This component shows the conversation `session`. */
export function useOnScreen(session: string): void {
  const { store, visible } = useView();
  const isSeen = visible.value;
  useEffect(() => {
    if (!isSeen) return;
    const all = onScreen(store);
    all.value = [...all.peek(), session];
    return () => {
      const at = all.peek().indexOf(session);
      all.value = all.peek().toSpliced(at, 1);
    };
  }, [store, session, isSeen]);
}
