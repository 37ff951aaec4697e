/** What is typed into the forms of the settings and not saved: it is there again when the settings are opened again. */
import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";

export const KeptContext = createContext<Map<string, unknown>>(new Map());

const keyOf = (name: string): string => `settings ${name}`;

/** State of a form that outlives the settings page; never the browser tab: variables can hold keys. */
export function useKept<T>(name: string, initial: T): [T, (value: T) => void] {
  const kept = useContext(KeptContext);
  const key = keyOf(name);
  const [, redraw] = useState(0);
  const set = (value: T): void => {
    kept.set(key, value);
    redraw((count) => count + 1);
  };
  return [kept.has(key) ? (kept.get(key) as T) : initial, set];
}

/** Forgets what was typed into the fields whose names begin so. */
export function useForget(): (start: string) => void {
  const kept = useContext(KeptContext);
  return (start) => {
    for (const key of [...kept.keys()]) if (key.startsWith(keyOf(start))) kept.delete(key);
  };
}
