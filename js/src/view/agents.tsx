/** The agents that a conversation can be started with; those that are to be installed first stand folded below. */
import { useState } from "preact/hooks";
import type { AgentInfo } from "../state/types.gen";
import { useView } from "./context";
import { CopyButton } from "./copy";
import { Fold } from "./fold";
import { line, reason } from "./plain";

interface Props {
  agents: readonly AgentInfo[];
  onNew: (agent: string) => void;
  disabled: boolean;
  /** Whether the agents that are not installed are wanted, too. */
  all?: boolean;
}

export function Agents({ agents, onNew, disabled, all = false }: Props) {
  const missing = agents.filter((agent) => agent.missing);
  const ready = agents.filter((agent) => !agent.missing);
  return (
    <>
      {ready.length > 0 && (
        <div class="agent-list">
          {ready.map((agent) => (
            <button
              type="button"
              key={agent.provider}
              class="agent-card"
              disabled={disabled}
              onClick={() => onNew(agent.provider)}
            >
              <Words agent={agent} />
            </button>
          ))}
        </div>
      )}
      {missing.length > 0 && (
        <Fold
          id="missing agents"
          className="missing-agents"
          open={all || ready.length === 0}
          head={<span>More agents ({missing.length} not installed)</span>}
        >
          <div class="agent-list">
            {missing.map((agent) => (
              <Missing key={agent.provider} agent={agent} disabled={disabled} />
            ))}
          </div>
        </Fold>
      )}
    </>
  );
}

const nameOf = (agent: AgentInfo) => line(agent.displayName || agent.provider, 60);

function Words({ agent }: { agent: AgentInfo }) {
  return (
    <>
      <strong>{nameOf(agent)}</strong>
      {agent.description && <span class="dim small">{line(agent.description, 160)}</span>}
    </>
  );
}

/** An agent that is not installed: what to type, and another look once it has been typed. */
function Missing({ agent, disabled }: { agent: AgentInfo; disabled: boolean }) {
  const { store, announce } = useView();
  const [said, say] = useState("");
  const look = async () => {
    say("Looking…");
    let found = `${nameOf(agent)} was not found. A program in a folder that is new on PATH is found once Jupyter restarts.`;
    try {
      const { installed = [] } = await store.request<{ installed?: string[] }>("refreshAgents", {});
      if (installed.includes(agent.provider)) found = `${nameOf(agent)} is installed.`;
    } catch (error) {
      found = reason(error);
    }
    say(found);
    announce(found);
  };
  return (
    <div class="agent-card is-missing" role="group" aria-label={nameOf(agent)}>
      <Words agent={agent} />
      <span class="agent-actions">
        {agent.install && (
          <CopyButton
            text={agent.install}
            label={`Copy install command of ${nameOf(agent)}`}
            words="Copy install command"
          />
        )}
        <button type="button" class="text-button small" disabled={disabled} onClick={look}>
          Check again
        </button>
      </span>
      {said && <span class="small">{said}</span>}
    </div>
  );
}
