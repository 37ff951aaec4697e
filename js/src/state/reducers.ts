/** Tables of reducers, one for each type of action. */
import type { Action } from "./types.gen.ts";

/** A reducer for each action of a channel: the compiler asks that none is missing. */
export type Reducers<S, A extends Action> = {
  readonly [T in A["type"]]: (state: S, action: Extract<A, { type: T }>) => S;
};

/** Looks reducers up by the action's type. A type that the table does not have changes nothing. */
export function byType<S, A extends Action>(reducers: Reducers<S, A>): (state: S, action: Action) => S {
  const table = new Map(Object.entries(reducers)) as Map<string, (state: S, action: Action) => S>;
  return (state, action) => {
    const reduce = table.get(action.type);
    return reduce === undefined ? state : reduce(state, action);
  };
}
