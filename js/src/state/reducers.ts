/** Tables of reducers, one for each type of action. */
import { changed, upsert, without } from "./change.ts";
import { table } from "./object.ts";
import { ROWS } from "./tables.gen.ts";
import type { Action } from "./types.gen.ts";

type Channel = keyof typeof ROWS;
type Fields = Readonly<Record<string, unknown>>;
type Table<S> = Map<string, (state: S, action: Action) => S>;

/** A reducer for each action of a channel without a row; the compiler reports a missing one. */
export type Reducers<S, A extends Action, Rows = never> = {
  readonly [T in Exclude<A["type"], Rows>]: (state: S, action: Extract<A, { type: T }>) => S;
};

/** Looks up reducers by the action's type. A type that neither they nor the channel's rows have changes nothing. */
export function byType<S extends object, A extends Action, C extends Channel>(
  channel: C,
  reducers: Reducers<S, A, keyof (typeof ROWS)[C]>,
): (state: S, action: Action) => S {
  const byName = new Map(Object.entries(reducers)) as Table<S>;
  for (const [type, steps] of Object.entries(ROWS[channel])) byName.set(type, reducedBy(steps));
  return (state, action) => {
    const reduce = byName.get(action.type);
    return reduce === undefined ? state : reduce(state, action);
  };
}

type Step = readonly [verb: string, field: string, ...more: unknown[]];
type Verb = (old: never, action: Fields, ...more: never[]) => unknown;
type Items = readonly { readonly [key: string]: string }[];

/** The new value of a state's field for each verb of the table, as in `agentnb/state/reducers.py`. */
const VERBS: Readonly<Record<string, Verb>> = table({
  set: (_old, action, source: string) => action[source],
  value: (_old, _action, value: unknown) => value,
  flag: (old: number, action, source: string, bit: number) => (action[source] ? old | bit : old & ~bit),
  upsert: (old: Items | undefined, action, source: string, key: string) =>
    upsert(old, action[source] as Items[number], key),
  remove: (old: Items | undefined, action, source: string, key: string) =>
    old && without(old, key, action[source] as string),
  merge: (old: { readonly values: object } | undefined, action) =>
    old && changed(old, { values: { ...(action.replace ? {} : old.values), ...(action.config as object) } }),
});

function reducedBy<S extends object>(steps: readonly Step[]): (state: S, action: Action) => S {
  return (state, action) => {
    const fields = steps.map(([verb, field, ...more]) => {
      const make = VERBS[verb] as (old: unknown, action: unknown, ...more: unknown[]) => unknown;
      return [field, make((state as Fields)[field], action, ...more)];
    });
    return changed(state, Object.fromEntries(fields) as Partial<S>);
  };
}
