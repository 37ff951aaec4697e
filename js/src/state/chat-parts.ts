/** Reduces the parts of the running turn: text that grows, plans, parts that come and go. */
import { defined, same } from "./change.ts";
import { withDerivedStatus } from "./chat-status.ts";
import { appended, findPart, replaced } from "./parts.ts";
import type {
  ActiveTurn,
  ChatResponsePart,
  ChatState,
  PlanResponsePart,
  ResponsePart,
  XPartRemoved,
  XPlanSet,
} from "./types.gen.ts";

type Growing = Extract<ResponsePart, { id: string; content: string }>;

interface Delta {
  readonly turnId: string;
  readonly partId: string;
  readonly content: string;
}

/** The running turn, when it is the one that is named. */
export function runningTurn(state: ChatState, turnId: string): ActiveTurn | undefined {
  return state.activeTurn?.id === turnId ? state.activeTurn : undefined;
}

/** The chat with these parts in its running turn. */
export function withParts(state: ChatState, turn: ActiveTurn, responseParts: readonly ResponsePart[]): ChatState {
  return { ...state, activeTurn: { ...turn, responseParts } };
}

export function responsePart(state: ChatState, { turnId, part }: ChatResponsePart): ChatState {
  const turn = runningTurn(state, turnId);
  if (turn === undefined) return state;
  const next = withParts(state, turn, appended(turn.responseParts, part));
  return part.kind === "toolCall" || part.kind === "inputRequest" ? withDerivedStatus(next) : next;
}

/** A reducer that adds text to parts of one kind. */
export function grows(kind: Growing["kind"]): (state: ChatState, action: Delta) => ChatState {
  return (state, action) => {
    const turn = runningTurn(state, action.turnId);
    if (turn === undefined || action.content === "") return state;
    const parts = turn.responseParts;
    const at = findPart(parts, action.partId);
    const part = parts[at];
    if (part === undefined || part.kind !== kind) return state;
    const { content } = part as Growing;
    return withParts(state, turn, replaced(parts, at, { ...part, content: content + action.content } as Growing));
  };
}

export function planSet(state: ChatState, action: XPlanSet): ChatState {
  const turn = runningTurn(state, action.turnId);
  if (turn === undefined) return state;
  const { partId: id, planId, entries } = action;
  const plan: PlanResponsePart = defined({ kind: "x-agentnb/plan", id, planId, entries });
  const parts = turn.responseParts;
  const at = findPart(parts, id);
  const old = parts[at];
  if (old === undefined) return withParts(state, turn, appended(parts, plan));
  return old.kind !== plan.kind || same(old, plan) ? state : withParts(state, turn, replaced(parts, at, plan));
}

export function partRemoved(state: ChatState, action: XPartRemoved): ChatState {
  const turn = runningTurn(state, action.turnId);
  const at = turn === undefined ? -1 : findPart(turn.responseParts, action.partId);
  if (turn === undefined || at < 0) return state;
  return withDerivedStatus(
    withParts(
      state,
      turn,
      turn.responseParts.filter((_, i) => i !== at),
    ),
  );
}
