/** How full the model's context is, and what it has cost. */
import type { SessionState } from "../state/types.gen";
import { count, line } from "./plain";

export function Meter({ session }: { session: SessionState }) {
  const usage = session.contextUsage;
  const mode = session.modes?.availableModes.find((one) => one.id === session.modes?.currentModeId);
  if (!usage && !mode) return null;
  const share = usage && usage.size > 0 ? Math.min(1, usage.used / usage.size) : 0;
  return (
    <div class="meter">
      {mode && <span class="chip">{line(mode.name, 40)}</span>}
      <span class="spacer" />
      {usage?.cost && <span>{money(usage.cost.amount, usage.cost.currency)}</span>}
      {usage && (
        <span class="meter-use" title={`${count(usage.used)} of ${count(usage.size)} tokens of context`}>
          <progress class="bar" value={share} max={1} aria-label="Context in use" />
          {Math.round(share * 100)}%
        </span>
      )}
    </div>
  );
}

function money(amount: number, currency: string): string {
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency, maximumFractionDigits: 4 }).format(amount);
  } catch {
    return `${amount} ${line(currency, 8)}`;
  }
}
