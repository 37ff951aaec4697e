/** The context that all components of a view share. */
import type { ReadonlySignal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import type { Cadence } from "./cadence";
import type { Drafts } from "./drafts";
import type { Store } from "./store";
import type { TextGrowth } from "./text-growth";

export interface View {
  readonly store: Store;
  readonly cadence: Cadence;
  readonly root: ShadowRoot;
  /** Folds and positions that this view remembers, by key. */
  readonly memory: Map<string, unknown>;
  /** Unsent texts; the same for all views of the store. */
  readonly drafts: Drafts;
  /** True while someone can see this view. */
  readonly visible: ReadonlySignal<boolean>;
  /** Calls back once when `element` comes near the screen; undefined if the browser can't tell. */
  readonly near: ((element: Element, then: () => void) => () => void) | undefined;
  readonly growth: TextGrowth;
  /** Focuses the message box as soon as it exists. */
  toBox(): void;
  /** Announces a sentence to screen readers, politely. */
  announce(sentence: string): void;
}

export const ViewContext = createContext<View>(undefined as unknown as View);

export function useView(): View {
  return useContext(ViewContext);
}

/** State that outlives its component: the view keeps it under `key`. */
export function useMemory<T>(key: string, initial: T): [T, (value: T) => void] {
  const { memory } = useView();
  const [, redraw] = useState(0);
  const value = memory.has(key) ? (memory.get(key) as T) : initial;
  const set = (next: T) => {
    memory.set(key, next);
    redraw((count) => count + 1);
  };
  return [value, set];
}

export interface CurrentChannels {
  readonly session: string;
  readonly chat: string;
  /** The turn, for components within its answer. */
  readonly turnId?: string;
}

export const PlaceContext = createContext<CurrentChannels>({ session: "", chat: "" });

export function usePlace(): CurrentChannels {
  return useContext(PlaceContext);
}

/** Returns the folder that the conversation's agent works in, as a `file:` address. */
export function useWorkspace(): string | undefined {
  const { store } = useView();
  return store.session(usePlace().session).peek()?.workingDirectories?.[0];
}

/** Returns a function that opens a workspace file beside the notebook; undefined if the front end can't. */
export function useOpenFile(): ((path: string, line?: number) => void) | undefined {
  const { store } = useView();
  const { session: channel } = usePlace();
  const workspace = useWorkspace();
  const open = store.notebook?.openFile;
  return (
    open && ((path, line) => open(path, workspace, line, () => store.request("readFile", { channel, path, length: 1 })))
  );
}
