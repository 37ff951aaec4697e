/**
 * The reducers that the page runs, one for each channel: the same as `agentnb.state` runs in the kernel. The JSON cases
 * in `tests/cases/reducer` keep the two equal.
 */
export { reduceChangeset } from "./changeset.ts";
export { reduceChat } from "./chat.ts";
export { reduceRoot } from "./root.ts";
export { reduceSession } from "./session.ts";
