/**
 * Gives the notebook the cell changes that agents ask permission for: it shows them in the cells, where the user
 * answers them. In a window without the notebook, a card in the chat asks the same question.
 */
import { signal } from "@preact/signals";
import type { ChatState, ToolCallPendingConfirmationState } from "../state/types.gen";
import { effectWithOffers } from "./followers";
import { chatChannel } from "./identity";
import { confirmation, narrowest, optionsOf, pendingCalls } from "./permission-answer";
import { line } from "./plain";
import { isArchived, needsAnswer } from "./status";
import { type CellProposal, isOver, type ProposalPlace, perStore, type Store } from "./store";
import { CellView } from "./visibility";

/** The places where this window's notebook shows proposals, by proposal id: the user answers them there. */
export const placesOf = perStore(() => signal<Readonly<Record<string, ProposalPlace>>>({}));

export function proposalId(chat: string, turnId: string, toolCallId: string): string {
  return `${chat} ${turnId} ${toolCallId}`;
}

/** Follows all conversations; returns a function that stops it. */
export function followProposals(store: Store): () => void {
  let last = "";
  const view = new CellView(store, "cell-proposals");
  const end = effectWithOffers(() => {
    const isHere = !isOver(store.connection.value);
    const waiting = store.root.value?.sessions?.filter((one) => !isArchived(one) && needsAnswer(one.status)) ?? [];
    const proposals = isHere ? waiting.flatMap(({ resource }) => proposalsOf(store, resource)) : [];
    const now = proposals.map(({ id }) => id).join("\n");
    const { notebook } = store;
    if (!notebook?.propose || now === last) return;
    last = now;
    view.isShown = proposals.length > 0;
    notebook.propose(proposals);
  });
  return () => {
    end();
    view.close();
    if (last) store.notebook?.propose?.([]);
  };
}

function proposalsOf(store: Store, session: string): CellProposal[] {
  const channel = store.session(session).value?.defaultChat ?? chatChannel(session);
  const chat = store.chat(channel).value;
  return chat ? pendingCalls(chat.activeTurn).flatMap((one) => proposalOf(store, chat, one) ?? []) : [];
}

function proposalOf(
  store: Store,
  { resource, activeTurn }: ChatState,
  call: ToolCallPendingConfirmationState,
): CellProposal | undefined {
  const cell = call.details?.cell;
  const turnId = activeTurn?.id;
  if (!cell || !turnId) return undefined;
  const answer = (kind: "approve" | "deny") => {
    const option = narrowest(optionsOf(call), kind);
    return option && (() => store.dispatch(resource, confirmation(turnId, call.toolCallId, option)));
  };
  const id = proposalId(resource, turnId, call.toolCallId);
  return {
    ...cell,
    // A text that was cut on its way to this page can't be compared.
    oldText: "oldTextRef" in cell ? undefined : cell.oldText,
    newText: "newTextRef" in cell ? undefined : cell.newText,
    id,
    title: line(call.displayName, 200),
    accept: answer("approve"),
    reject: answer("deny"),
    placed: (place) => {
      const all = placesOf(store);
      const { [id]: before, ...others } = all.peek();
      if (place?.where === before?.where && place?.obstacle === before?.obstacle) return;
      all.value = place ? { ...others, [id]: place } : others;
    },
  };
}
