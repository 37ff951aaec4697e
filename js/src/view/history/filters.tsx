/** The filters of the history: where a conversation began, when something happened in it, its state and its agent. */
import { Choice } from "../controls";
import type { Query, Scope, Show } from "./list";

const SCOPES: readonly [Scope, string][] = [
  ["here", "This notebook"],
  ["folder", "This folder"],
  ["everywhere", "Everywhere"],
];
const SHOWS: readonly [Show, string][] = [
  ["", "Any"],
  ["running", "Running"],
  ["needs-you", "Waiting for you"],
  ["failed", "Failed"],
  ["archived", "Archived"],
];
const TIMES: readonly [number, string][] = [
  [0, "Any time"],
  [1, "Today"],
  [7, "Last 7 days"],
  [30, "Last 30 days"],
];
const nameOf = <T,>(options: readonly (readonly [T, string])[], value: T) =>
  options.find(([one]) => one === value)?.[1] ?? String(value);

interface FiltersProps {
  query: Query;
  agents: readonly [name: string, title: string][];
  narrow: (wanted: Partial<Query>) => void;
}

/** Returns the active filters in words; always includes the scope. */
export function inWords(query: Query, agents: FiltersProps["agents"]): string {
  return [
    nameOf(SCOPES, query.scope),
    ...(query.agent ? [nameOf(agents, query.agent)] : []),
    ...(query.days > 0 ? [nameOf(TIMES, query.days)] : []),
    ...(query.show ? [nameOf(SHOWS, query.show)] : []),
  ].join(", ");
}

export function Filters({ query, agents, narrow }: FiltersProps) {
  return (
    <div class="history-filters" role="group" aria-label="Filters">
      <label>
        Where
        <Choice label="Where" options={SCOPES} value={query.scope} onChoose={(scope) => narrow({ scope })} />
      </label>
      <label>
        When
        <Choice label="When" options={TIMES} value={query.days} onChoose={(days) => narrow({ days })} />
      </label>
      <label>
        State
        <Choice label="State" options={SHOWS} value={query.show} onChoose={(show) => narrow({ show })} />
      </label>
      {agents.length > 1 && (
        <label>
          Agent
          <Choice
            label="Agent"
            options={[["", "Any"], ...agents]}
            value={query.agent}
            onChoose={(agent) => narrow({ agent })}
          />
        </label>
      )}
    </div>
  );
}
