/** Below the box: what the agent can be set to, how full the model's context is, and what it has cost. */
import { useMemo } from "preact/hooks";
import type { ChatState, SessionState, Turn } from "../state/types.gen";
import { usePlace, useView } from "./context";
import { Spacer, Spinner } from "./icons";
import { count, line, plain, short } from "./plain";
import { Selectors } from "./selectors";

interface Props {
  agent: string;
  session: SessionState;
  chat: ChatState;
  disabled: boolean;
}

/** The part of the context from which on the reader is warned. */
const NEARLY_FULL = 0.85;
const SOON = ". The agent will soon shorten or forget what was said first: begin a new conversation for a new subject.";

export function Meter({ agent, session, chat, disabled }: Props) {
  const usage = session.contextUsage;
  const { store } = useView();
  const { left, turns } = store.older(usePlace().chat).value;
  const spent = useMemo(() => tokens(turns) + tokens(chat.turns), [turns, chat.turns]);
  const of = left > 0 ? `the latest ${count(turns.length + chat.turns.length)} turns` : "this conversation";
  const share = usage && usage.size > 0 ? Math.min(1, usage.used / usage.size) : 0;
  const isFull = share > NEARLY_FULL;
  const known = session.configOptions?.length || session.modes?.availableModes.length || session.config;
  const starting = session.agentProcess?.state === "starting";
  const toCome = session.lifecycle === "creating"; // so that the box does not move then
  if (!usage && !known && spent === 0 && !starting && !toCome) return null;
  return (
    <div class="row meter">
      {starting && (
        <span class="row starting" title={plain(session.agentProcess?.message)}>
          <Spinner /> Starting {agent}…
        </span>
      )}
      <Selectors session={session} disabled={disabled} />
      <Spacer />
      {spent > 0 && (
        <span title={`${count(spent)} tokens in ${of}`}>{`${short(spent)}${left > 0 ? "+" : ""} tokens`}</span>
      )}
      {usage?.cost && <span title="Cost of this conversation">{money(usage.cost.amount, usage.cost.currency)}</span>}
      {usage && (
        <span
          class="row meter-use"
          title={`${count(usage.used)} of ${count(usage.size)} context tokens used${isFull ? SOON : ""}`}
        >
          <progress class={`bar${isFull ? " is-full" : ""}`} value={share} max={1} aria-label="Context used" />
          {Math.round(share * 100)}%{isFull && " · nearly full"}
        </span>
      )}
    </div>
  );
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
