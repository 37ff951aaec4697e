/** The requests about tries and the kernel's answers (agentnb/plugins/branches/requests.py). */
import { isObject } from "../../state/object";
import type { Store } from "../store";

export interface TryFile {
  readonly path: string;
  readonly status: "added" | "modified" | "deleted";
  /** A unified diff, as from `diff -u`; empty if there is none to show. */
  readonly diff: string;
}

export interface TryCell {
  readonly id: string;
  readonly action: "insert" | "replace" | "delete" | "move";
  readonly kind: string;
  readonly before: string;
  readonly after: string;
}

export interface Try {
  readonly number: number;
  readonly agent: string;
  readonly state: "running" | "done" | "failed" | "kept" | "discarded";
  readonly way: "fork" | "replay";
  /** The conversation's channel. */
  readonly session: string;
  readonly says: string;
  readonly measure?: number | null;
  readonly error: string;
  readonly verified?: boolean | null;
  readonly findings: string;
  readonly files: readonly TryFile[];
  readonly cells: readonly TryCell[];
  readonly variables: Readonly<Record<string, string>>;
  readonly checks: readonly string[];
  readonly pictures: number;
  readonly tokens: number;
  readonly seconds: number;
  /** The conversation with the turn that kept the try, or parts of it; empty before. */
  readonly kept: string;
}

export interface TrySet {
  readonly id: string;
  readonly prompt: string;
  readonly note: string;
  /** The number of the best try; 0 if none was measured. */
  readonly best: number;
  readonly tries: readonly Try[];
}

type Ask = (method: string, params: object) => Promise<unknown>;

/** The requests of the plug-in; the page's own table of requests does not have them. */
export function triesOf(store: Store) {
  const ask = store.request.bind(store) as Ask;
  return {
    look: async (id: string): Promise<readonly TrySet[]> => listed(await ask("branches/look", { id }), "sets"),
    begin: (prompt: string, session: string) => ask("branches/begin", { prompt, session }),
    keep: (id: string, number: number, only?: readonly string[]) => ask("branches/keep", { id, number, only }),
    discard: (id: string, numbers: readonly number[]) => ask("branches/discard", { id, numbers }),
    stop: (id: string, number: number) => ask("branches/stop", { id, number }),
    pictures: async (id: string, number: number): Promise<readonly string[]> =>
      listed(await ask("branches/pictures", { id, number }), "pictures"),
  };
}

function listed<T>(answer: unknown, name: string): readonly T[] {
  const list = isObject(answer) ? answer[name] : undefined;
  if (!Array.isArray(list)) throw new Error("The kernel's answer doesn't follow the protocol.");
  return list as T[];
}
