/** Reduces the parts of the running turn: growing text, plans, parts that come and go. */
import { changed, defined, same } from "./change.ts";
import { appended, findPart, replaced, waitingCalls } from "./parts.ts";
import { SessionStatus } from "./tables.gen.ts";
import type {
  Action,
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

export function runningTurn(state: ChatState, turnId: string): ActiveTurn | undefined {
  return state.activeTurn?.id === turnId ? state.activeTurn : undefined;
}

export function withParts(state: ChatState, turn: ActiveTurn, responseParts: readonly ResponsePart[]): ChatState {
  return { ...state, activeTurn: { ...turn, responseParts } };
}

export function responsePart(state: ChatState, { turnId, part }: ChatResponsePart): ChatState {
  const turn = runningTurn(state, turnId);
  if (turn === undefined) return state;
  const next = withParts(state, turn, appended(turn.responseParts, part));
  return part.kind === "toolCall" || part.kind === "inputRequest" ? withDerivedStatus(next) : next;
}

/** Returns a reducer that adds text to parts of one kind. */
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

/** The bits of a status that hold the activity. */
const ACTIVITY = 0b11111;

export function withActivity(status: number, activity: number): number {
  return (status & ~ACTIVITY) | activity;
}

export function unread(status: number): number {
  return status & ~SessionStatus.IS_READ;
}

/** Returns the status that follows from the chat's turn, questions and tool calls; keeps the flags. */
export function derivedStatus(state: ChatState): number {
  return withActivity(state.status, activity(state));
}

function activity(state: ChatState): number {
  const waits = state.activeTurn !== undefined && waitingCalls(state.activeTurn.responseParts) > 0;
  if (state.inputRequests?.length || waits) return SessionStatus.INPUT_NEEDED;
  return state.activeTurn === undefined ? SessionStatus.IDLE : SessionStatus.IN_PROGRESS;
}

export function withDerivedStatus(state: ChatState): ChatState {
  return changed(state, { status: derivedStatus(state) });
}

/** Returns the time of the chat's last change once this action is applied. */
export function modifiedAt(state: ChatState, action: Action): string {
  return action.time === undefined ? state.modifiedAt : new Date(action.time).toISOString();
}
