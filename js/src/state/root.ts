/** Reduces the root channel. */
import { byType } from "./reducers.ts";
import type { RootAction, RootState } from "./types.gen.ts";

/** The root after an action; the very same object when nothing has changed. */
export const reduceRoot = byType<RootState, RootAction, "root">("root", {});
