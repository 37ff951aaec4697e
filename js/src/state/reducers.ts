/** Tables of reducers, one for each type of action. */
import { changed } from "./change.ts";
import { SETS } from "./tables.gen.ts";
import type { Action } from "./types.gen.ts";

type Channel = keyof typeof SETS;
type Table<S> = Map<string, (state: S, action: Action) => S>;

/** A reducer for each action of a channel that does more than set fields: the compiler asks that none is missing. */
export type Reducers<S, A extends Action, Rows = never> = {
  readonly [T in Exclude<A["type"], Rows>]: (state: S, action: Extract<A, { type: T }>) => S;
};

/** Looks reducers up by the action's type. A type that neither they nor the channel's rows have changes nothing. */
export function byType<S extends object, A extends Action, C extends Channel>(
  channel: C,
  reducers: Reducers<S, A, keyof (typeof SETS)[C]>,
): (state: S, action: Action) => S {
  const table = new Map(Object.entries(reducers)) as Table<S>;
  for (const [type, fields] of Object.entries(SETS[channel])) table.set(type, sets(fields));
  return (state, action) => {
    const reduce = table.get(action.type);
    return reduce === undefined ? state : reduce(state, action);
  };
}

/** The reducer of an action that only sets fields. */
function sets<S extends object>(fields: Readonly<Record<string, string>>): (state: S, action: Action) => S {
  const names = Object.entries(fields);
  return (state, action) => {
    const values = action as unknown as Readonly<Record<string, unknown>>;
    return changed(state, Object.fromEntries(names.map(([name, source]) => [name, values[source]])) as Partial<S>);
  };
}
