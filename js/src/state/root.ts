/** Reduces the root channel. */
import { byType } from "./reducers.ts";
import type { RootAction, RootState } from "./types.gen.ts";

/** The root after an action; the same object if nothing has changed. */
export const reduceRoot = byType<RootState, RootAction, "root">("root", {});
