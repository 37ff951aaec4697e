/** The agents that a conversation can be started with; those that are to be installed first stand folded below. */
import type { AgentInfo } from "../state/types.gen";
import type { AgentsContext } from "./agents/panel";
import { useView } from "./context";
import { Fold } from "./fold";
import { isRemote } from "./identity";
import { OnDemand } from "./on-demand";
import { line } from "./plain";

interface Props {
  agents: readonly AgentInfo[];
  onNew: (agent: string) => void;
  disabled: boolean;
  /** Whether the agents that are not installed are wanted, too. */
  all?: boolean;
}

export function Agents({ agents, onNew, disabled, all = false }: Props) {
  const { store, announce } = useView();
  const missing = agents.filter((agent) => agent.missing).length;
  const ready = agents.filter((agent) => !agent.missing);
  const context: AgentsContext = {
    root: store.root,
    request: (method, params) => store.request(method, params),
    start: onNew,
    announce,
  };
  return (
    <>
      {ready.length > 0 && (
        <div class="agent-list">
          {ready.map((agent) => (
            <button
              type="button"
              key={agent.provider}
              class="column agent-card"
              disabled={disabled}
              onClick={() => onNew(agent.provider)}
            >
              <strong>{line(agent.displayName || agent.provider, 60)}</strong>
              {agent.description && <span class="dim small">{line(agent.description, 160)}</span>}
            </button>
          ))}
        </div>
      )}
      {(missing > 0 || !isRemote(store.root.value)) && (
        <Fold
          id="missing agents"
          className="missing-agents"
          open={all || ready.length === 0}
          head={<span>{missing > 0 ? `More agents (${missing} not installed)` : "Check agents"}</span>}
        >
          <OnDemand name="agents" what="the agents" context={context} />
        </Fold>
      )}
    </>
  );
}
