/** Keeps, undoes, redoes and applies changes: one operation at a time, with its result. */

import { useState } from "preact/hooks";
import type { Answer } from "../state/answers";
import { table } from "../state/object";
import type { ChangeConflict, ChangeHunk } from "../state/requests.gen";
import { many } from "./change-set";
import { useView } from "./context";
import { line, reason } from "./plain";

export interface Operation {
  readonly operationId: "keep" | "undo" | "redo" | "apply";
  /** The id of one change; absent for all. */
  readonly target?: string;
  readonly hunk?: ChangeHunk;
}

/** How to resolve a conflict: keep the current content (`mine`), or take the operation's result (`theirs`). */
export type Choice = "mine" | "theirs";

export interface Conflicts {
  readonly operation: Operation;
  readonly all: readonly ChangeConflict[];
}

export interface Operations {
  readonly isBusy: boolean;
  /** The last operation's result, in a sentence. */
  readonly said: string;
  readonly failed: string;
  /** Nothing is changed yet: the user must choose first. */
  readonly conflicts: Conflicts | undefined;
  invoke(operation: Operation, choices?: Readonly<Record<string, Choice>>): void;
  /** Dismisses the conflicts and changes nothing. */
  cancel(): void;
}

interface Outcome {
  isBusy?: boolean;
  said?: string;
  failed?: string;
  conflicts?: Conflicts;
}

const ONLY_DONE =
  /^(?:[\d,]+ (?:file|cell|variable)s?(?:, | and )?)+ (?:was|were) (?:undone|redone|kept|applied)\.$|^\w+\.$/;
const DONE = table({ keep: "Kept.", undo: "Undone.", redo: "Redone.", apply: "Applied." });

export function useOperations(changeset: string): Operations {
  const { store, announce } = useView();
  const [{ isBusy = false, said: result = "", failed = "", conflicts }, set] = useState<Outcome>({});
  const answered = (operation: Operation, { message, conflicts: all = [] }: Answer<"invokeChangesetOperation">) => {
    const text = line(message, 1000) || (all.length > 0 ? "" : DONE[operation.operationId]);
    if (all.length > 0) {
      set({ conflicts: { operation, all } });
      announce(`${many(all.length, "conflict")}. ${text}`.trim());
    } else {
      // The changes themselves show that it was done; only other messages are shown here.
      set(ONLY_DONE.test(text) ? {} : { said: text });
      announce(text);
    }
  };
  const invoke: Operations["invoke"] = (operation, choices) => {
    if (isBusy) return;
    set({ isBusy: true, ...(conflicts ? { conflicts } : {}) });
    const { operationId, target, hunk } = operation;
    const params = {
      channel: changeset,
      operationId,
      ...(target === undefined
        ? {}
        : { target: { kind: "resource" as const, resource: target, ...(hunk && { hunk }) } }),
      ...(choices ? { choices } : {}),
    };
    store.request("invokeChangesetOperation", params).then(
      (answer) => answered(operation, answer),
      (error: unknown) => set({ failed: line(reason(error), 1000) }),
    );
  };
  return { isBusy, said: result, failed, conflicts, invoke, cancel: () => set({}) };
}
