/** The commands of agents: the user's own and changes to the catalogue's. Never shows values of variables. */
import { useEffect, useRef } from "preact/hooks";
import { Choice, TextButton } from "../controls";
import { line } from "../plain";
import type { AgentLaunch } from "./list";
import { type Program, ProgramForm, useForget, useTyped } from "./program-form";

interface Props {
  agents: readonly AgentLaunch[];
  /** Writes a description, or removes it if there is no `agent`. */
  onChange: (name: string, state: string, agent?: Program) => void;
}

export function ownOnes(agents: readonly AgentLaunch[]): string {
  const number = agents.filter(({ file }) => file).length;
  return number === 0 ? "None" : `${number} ${number === 1 ? "custom command" : "custom commands"}`;
}

const FORM = "agent";

/** Lists the user's own agents, with a form to change each, and one to add another. */
export function OwnAgents({ agents, onChange }: Props) {
  const [editing, choose] = useTyped<string | undefined>("own agents", "edited", undefined);
  const forget = useForget();
  const edit = (name: string | undefined) => {
    forget(FORM);
    choose(name);
  };
  const own = agents.filter(({ file }) => file);
  const shipped = agents.filter(({ file }) => !file);
  const chosen = agents.find(({ name }) => name === editing);
  const saved = useRef<{ name: string; state: string } | undefined>(undefined);
  useEffect(() => {
    const { name, state } = saved.current ?? {};
    if (name === undefined || (agents.find((one) => one.name === name)?.state ?? "") === state) return;
    saved.current = undefined; // it was confirmed and written
    edit(undefined);
  }, [agents]);
  const check = (name: string, command: string) => {
    if (!name) return "Enter a name for the agent.";
    if (!chosen && agents.some((one) => one.name === name))
      return `An agent named ${line(name, 60)} exists already. Choose it in the list above to change it.`;
    return command ? "" : "Enter the command that starts the agent.";
  };
  return (
    <>
      <p class="dim small">
        The program that speaks ACP, and environment variables for it. Put keys into variables: their values are saved
        in a file of yours and never shown again.
      </p>
      {own.length > 0 && (
        <ul class="list settings-agents">
          {own.map((agent) => (
            <li key={agent.name}>
              <span class="settings-agent">
                {line(agent.title, 60)} <code>{line(agent.line, 400)}</code>
                {agent.variables.length > 0 && (
                  <span class="dim small"> with {agent.variables.map((one) => line(one, 60)).join(", ")}</span>
                )}
              </span>
              <TextButton
                aria-label={`Edit the agent ${line(agent.name, 60)}`}
                aria-expanded={editing === agent.name}
                disabled={Boolean(agent.problem)}
                onClick={() => edit(editing === agent.name ? undefined : agent.name)}
              >
                Edit
              </TextButton>
              <TextButton
                aria-label={`Remove the agent ${line(agent.name, 60)}`}
                onClick={() => {
                  edit(undefined);
                  onChange(agent.name, agent.state ?? "");
                }}
              >
                Remove
              </TextButton>
            </li>
          ))}
        </ul>
      )}
      <label class="row wraps settings-form">
        <span class="small">Add for</span>
        <Choice
          label="Agent of the command"
          options={[
            ["", "Choose…"],
            ["=", "A new agent"],
            ...shipped.map(({ name, title }) => [`=${name}`, line(title, 60)] as const),
          ]}
          value={editing !== undefined && !chosen?.file ? `=${editing}` : ""}
          onChoose={(value) => edit(value ? value.slice(1) : undefined)}
        />
      </label>
      {editing !== undefined && (
        <ProgramForm
          key={`${editing} ${chosen?.state ?? ""}`}
          form={FORM}
          class="settings-box"
          label={chosen ? `The agent ${line(chosen.name, 60)}` : "A new agent"}
          {...(!chosen && { name: { label: "Name of the agent", placeholder: "name" } })}
          command={{ label: "Command of the agent", placeholder: "my-agent --acp" }}
          variables={{ label: "Variables to set", placeholder: "NAME=value, one per line", rows: 2 }}
          before={chosen}
          submit="Save"
          check={check}
          onCancel={() => edit(undefined)}
          onSave={(name, program) => {
            saved.current = { name, state: chosen?.state ?? "" };
            onChange(name, chosen?.state ?? "", program);
          }}
        />
      )}
    </>
  );
}
