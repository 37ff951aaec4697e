import type { ReadonlySignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { RootState } from "../state/types.gen";

/** The root channel's state, drawn again when it changes: for modules that are fetched, whose Preact has no signals. */
export function useRoot(root: ReadonlySignal<RootState | undefined>): RootState | undefined {
  const [state, setState] = useState(root.peek());
  useEffect(() => root.subscribe(setState), [root]);
  return state;
}
