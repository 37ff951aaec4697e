/** Reduces a changeset channel: the changes of a turn, or of a conversation. */
import { changed, put } from "./change.ts";
import { byType } from "./reducers.ts";
import type { ChangesetAction, ChangesetState } from "./types.gen.ts";

/** A set of changes after an action; the same object if nothing has changed. */
export const reduceChangeset = byType<ChangesetState, ChangesetAction, "changeset">("changeset", {
  "changeset/contentChanged": (state, { files, operations }) =>
    changed(state, { files, operations: operations ?? state.operations }),
  "changeset/operationStatusChanged": (state, { operationId, status, error }) => {
    const operations = state.operations ?? [];
    const at = operations.findIndex((operation) => operation.id === operationId);
    const old = operations[at];
    if (old === undefined) return state;
    const operation = changed(old, { status, error });
    return operation === old ? state : changed(state, { operations: put(operations, at, operation) });
  },
});
