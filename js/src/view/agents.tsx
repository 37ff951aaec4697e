/** The agents that a conversation can be started with; those that are to be installed first stand folded below. */
import type { AgentInfo } from "../state/types.gen";
import { Fold } from "./fold";
import { line } from "./plain";

interface Props {
  agents: readonly AgentInfo[];
  onNew: (agent: string) => void;
  disabled: boolean;
}

export function Agents({ agents, onNew, disabled }: Props) {
  const missing = agents.filter((agent) => agent.missing);
  const ready = agents.filter((agent) => !agent.missing);
  const cards = (some: readonly AgentInfo[]) => (
    <div class="agent-list">
      {some.map((agent) => (
        <button
          type="button"
          key={agent.provider}
          class="agent-card"
          disabled={disabled}
          onClick={() => onNew(agent.provider)}
        >
          <strong>{line(agent.displayName || agent.provider, 60)}</strong>
          {agent.description && <span class="dim small">{line(agent.description, 160)}</span>}
        </button>
      ))}
    </div>
  );
  return (
    <>
      {ready.length > 0 && cards(ready)}
      {missing.length > 0 && (
        <Fold
          id="missing agents"
          className="missing-agents"
          open={ready.length === 0}
          head={<span>{missing.length === 1 ? "1 more agent" : `${missing.length} more agents`} not installed</span>}
        >
          {cards(missing)}
        </Fold>
      )}
    </>
  );
}
