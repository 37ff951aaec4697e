/** Reduces the root channel. */
import { changed, upsert, without } from "./change.ts";
import { byType } from "./reducers.ts";
import type { RootAction, RootState } from "./types.gen.ts";

/** The root after an action; the very same object when nothing has changed. */
export const reduceRoot = byType<RootState, RootAction, "root">("root", {
  "root/configChanged": (state, action) => {
    if (state.config === undefined) return state;
    const values = action.replace ? action.config : { ...state.config.values, ...action.config };
    return changed(state, { config: changed(state.config, { values }) });
  },
  "x-agentnb/sessionSet": (state, { summary }) =>
    changed(state, { sessions: upsert(state.sessions, summary, "resource") }),
  "x-agentnb/sessionRemoved": (state, { resource }) =>
    state.sessions === undefined ? state : changed(state, { sessions: without(state.sessions, "resource", resource) }),
});
