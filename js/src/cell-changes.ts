/**
 * Gives the notebook the cell changes that were made without a question, so that the cells show them until the user
 * keeps or undoes them: the same changes and operations as below the turn. Fetched when an agent may change cells.
 */
import type { JsonObject, ToolCallState, Turn } from "./state/types.gen";
import { type Change, changesOf } from "./view/change-set";
import { changesChannel, chatChannel } from "./view/identity";
import { line, reason } from "./view/plain";
import { isArchived } from "./view/status";
import type { CellChange, Store } from "./view/store";
import { CellView } from "./view/visibility";

/** How many turns of a conversation show their changes in the cells, and how many conversations are checked. */
const TURNS = 5;
const CONVERSATIONS = 20;

export interface CellChangesContext {
  readonly store: Store;
  /** An effect of the store's signals, which also runs when a notebook is offered. */
  effectWithOffers(run: () => void): () => void;
}

/** Follows all conversations whose agents may change cells, until the caller calls the returned function. */
export default function follow({ store, effectWithOffers }: CellChangesContext): () => void {
  let last = "[]";
  const cache = new Map<string, CellChange>();
  const view = new CellView(store, "cell-changes");
  const end = effectWithOffers(() => {
    const sessions = (store.root.value?.sessions ?? []).filter((one) => !isArchived(one)).slice(-CONVERSATIONS);
    const changes = sessions.flatMap(({ resource }) => changesIn(store, resource, cache));
    const now = JSON.stringify(changes.map(({ id, status, about, isUndoable }) => [id, status, about, isUndoable]));
    const { notebook } = store;
    if (!notebook?.applied || now === last) return;
    last = now;
    view.isShown = changes.length > 0;
    notebook.applied(changes);
  });
  return () => {
    end();
    view.close();
    if (last !== "[]") store.notebook?.applied?.([]);
  };
}

function changesIn(store: Store, session: string, cache: Map<string, CellChange>): CellChange[] {
  const state = store.session(session).value;
  if (state?.config?.values.kernel !== "run") return [];
  const chat = store.chat(state.defaultChat ?? chatChannel(session)).value;
  const turns = (chat?.turns ?? []).slice(-TURNS).filter(hasOpenCells);
  const cells = new Map<string, CellChange>();
  for (const turn of turns) {
    const channel = changesChannel(session, turn.id);
    const open = changesOf(store.changeset(channel).value).filter(
      ({ kind, state }) => kind === "cell" && state === "open",
    );
    const unseen = withoutAnswered(open, turn);
    // If two turns changed a cell, the later one is shown.
    for (const change of unseen) cells.set(cellOf(change).cellId, cellChange(store, channel, change, cache));
  }
  return [...cells.values()];
}

/** True if a turn has changes that the user has not decided on; *Keep* of a try was a decision. */
function hasOpenCells({ changes, message }: Turn): boolean {
  const { status, files = 0, cells = 0, variables = 0, undone = 0, kept = 0 } = changes ?? {};
  const isDecided = (message._meta?.agentnb as JsonObject | null | undefined)?.isDecided === true;
  return !isDecided && status === "ready" && cells > 0 && undone + kept < files + cells + variables;
}

/** The changes that the user was not shown before they were made. */
function withoutAnswered(changes: readonly Change[], turn: Turn): Change[] {
  const answered = turn.responseParts.flatMap((part) =>
    part.kind === "toolCall" ? (askedCell(part.toolCall) ?? []) : [],
  );
  const cells = new Set(
    answered.flatMap(({ action, cellId, others = [] }) => (action === "insert" ? [] : [cellId, ...others])),
  );
  const made = answered.filter(({ action }) => action === "insert" || action === "split").length;
  const added = changes.filter(({ status }) => status === "added").length;
  return changes.filter((change) => (change.status === "added" ? added > made : !cells.has(cellOf(change).cellId)));
}

function askedCell(call: ToolCallState) {
  return "confirmed" in call && call.confirmed === "user-action" ? call.details?.cell : undefined;
}

/** The cell of a change: `cell:<id>`, followed by `@<notebook>` if two notebooks have a cell with the id. */
function cellOf({ id }: Change): { cellId: string; notebook: string | undefined } {
  const [cellId = "", ...notebook] = id.replace(/^cell:/, "").split("@");
  return { cellId, notebook: notebook.length ? notebook.join("@") : undefined };
}

/** Returns the same object for a change with the same state. */
function cellChange(store: Store, changeset: string, change: Change, cache: Map<string, CellChange>): CellChange {
  const { id, status, undoable, before, after, detail, place } = change;
  const key = JSON.stringify([changeset, id, status, undoable, before, after]);
  const known = cache.get(key);
  if (known) return known;
  const invoke = async (operationId: "keep" | "undo"): Promise<string> => {
    const target = { kind: "resource", resource: id } as const;
    const { conflicts, message } = await store.request("invokeChangesetOperation", {
      channel: changeset,
      operationId,
      target,
    });
    if (!conflicts?.length) return "";
    return `${line(message, 300)} Choose with Review below the turn, in the chat.`.trim();
  };
  const made: CellChange = {
    id: key,
    ...cellOf(change),
    status: status === "added" || status === "deleted" ? status : "changed",
    about: detail,
    isUndoable: undoable,
    place,
    before: async () => {
      if (before === "") return "";
      const { text, isCut } = await store.change(changeset, id, "before");
      return isCut ? undefined : text;
    },
    keep: () => invoke("keep").catch(reason),
    undo: () => invoke("undo").catch(reason),
  };
  cache.set(key, made);
  return made;
}
