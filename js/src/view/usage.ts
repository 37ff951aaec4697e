/** Describes how full the model's context is, and what the conversation has cost. */
import { useMemo } from "preact/hooks";
import { isObject } from "../state/object";
import type { ChatState, SessionState, Turn } from "../state/types.gen";
import { useView } from "./context";
import { count, line } from "./plain";

/** The share of the context above which the user is warned. */
const NEARLY_FULL = 0.85;
const SOON = " The agent will soon shorten or forget the earliest messages. Start a new conversation for a new topic.";

const NO_TURNS: readonly Turn[] = [];

export function useUsage(session: SessionState | undefined, channel: string, chat: ChatState | undefined) {
  const { store } = useView();
  const { left, turns } = chat ? store.older(channel).value : { left: 0, turns: NO_TURNS };
  const own = chat?.turns ?? NO_TURNS;
  const spent = useMemo(() => tokens(turns) + tokens(own), [turns, own]);
  const usage = session?.contextUsage;
  const share = usage && usage.size > 0 ? Math.min(1, usage.used / usage.size) : 0;
  const isFull = share > NEARLY_FULL;
  const of = left > 0 ? `the latest ${count(turns.length + own.length)} turns` : "this conversation";
  const { budget: spending } = session?._meta ?? {}; // from 80 % on
  const budget = isObject(spending) ? line(spending.line ?? "", 80) : "";
  const words = [
    budget && `Budget: ${budget}.`,
    spent > 0 && `${count(spent)} tokens in ${of}.`,
    usage?.cost && `Cost: ${money(usage.cost.amount, usage.cost.currency)}.`,
    usage && `${count(usage.used)} of ${count(usage.size)} context tokens used (${Math.round(share * 100)}%).`,
  ];
  return {
    words: `${words.filter(Boolean).join(" ")}${isFull ? SOON : ""}`,
    short: budget || (isFull && `${Math.round(share * 100)}% full`),
  };
}

function tokens(turns: readonly Turn[]): number {
  return turns.reduce((sum, { usage }) => sum + (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0), 0);
}

function money(amount: number, currency: string): string {
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency, maximumFractionDigits: 4 }).format(amount);
  } catch {
    return `${amount} ${line(currency, 8)}`;
  }
}
