/** How agents are started: the user's own and changes of the catalogue's. What a variable holds is never shown. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button, Choice, Form, TextButton, TextField, Trouble } from "../controls";
import { line } from "../plain";
import { NO_VARIABLES, Removable, readVariables, VariablesField } from "./fields";
import { useForget, useKept } from "./kept";
import type { AgentLaunch } from "./list";

interface Props {
  agents: readonly AgentLaunch[];
  /** Writes a description, or removes it where there is no `agent`. */
  onChange: (name: string, state: string, agent?: { line: string; env: Record<string, string | null> }) => void;
  children: ComponentChildren;
}

const NEW = "";
const FORM = "agent ";

/** Lists the user's own agents, with a form to change each, and one for another. */
export function OwnAgents({ agents, onChange, children }: Props) {
  const [editing, choose] = useKept<string | undefined>("agent", undefined);
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
  return (
    <div class="setting" role="group" aria-labelledby="own-agents-title" aria-describedby="own-agents-about">
      <div class="row wraps setting-line">
        <span id="own-agents-title" class="setting-title">
          Commands of agents
        </span>
      </div>
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
        <span class="small">Describe</span>
        <Choice
          label="Agent to describe"
          options={[
            ["", "…"],
            ["=", "an agent of your own"],
            ...shipped.map(({ name, title }) => [`=${name}`, `${line(title, 60)}, in another way`] as const),
          ]}
          value={editing !== undefined && !chosen?.file ? `=${editing}` : ""}
          onChoose={(value) => edit(value ? value.slice(1) : undefined)}
        />
      </label>
      {editing !== undefined && (
        <AgentForm
          key={`${editing} ${chosen?.state ?? ""}`}
          agent={chosen}
          names={agents.map(({ name }) => name)}
          onCancel={() => edit(undefined)}
          onSave={(name, said) => {
            saved.current = { name, state: chosen?.state ?? "" };
            onChange(name, chosen?.state ?? "", said);
          }}
        />
      )}
      <p id="own-agents-about" class="dim small">
        The program that speaks ACP, and variables for it. Keys belong into variables: what these hold is written into
        your own file and never shown again. No project's file is changed.
      </p>
      {children}
    </div>
  );
}

interface FormProps {
  agent: AgentLaunch | undefined;
  names: readonly string[];
  onCancel: () => void;
  onSave: (name: string, agent: { line: string; env: Record<string, string | null> }) => void;
}

function AgentForm({ agent, names, onCancel, onSave }: FormProps) {
  const [name, setName] = useKept(`${FORM}name`, agent?.name ?? NEW);
  const [command, setCommand] = useKept(`${FORM}command`, agent?.line ?? "");
  const [kept, keep] = useKept(`${FORM}variables kept`, agent?.variables ?? []);
  const [variables, setVariables] = useKept(`${FORM}variables`, "");
  const [trouble, setTrouble] = useState("");
  const save = () => {
    const typed = readVariables(variables);
    if (!name.trim()) return setTrouble("The agent has no name: write one, such as mine.");
    if (!agent && names.includes(name.trim()))
      return setTrouble(`There is an agent ${line(name, 60)} already: choose it in the list above to change it.`);
    if (!command.trim()) return setTrouble("The command is missing: write the program that speaks ACP.");
    if (!typed) return setTrouble(NO_VARIABLES);
    setTrouble("");
    onSave(name.trim(), {
      line: command.trim(),
      env: { ...Object.fromEntries(kept.map((one) => [one, null])), ...typed },
    });
  };
  return (
    <Form
      class="row wraps settings-form settings-box"
      label={agent ? `The agent ${line(agent.name, 60)}` : "A new agent"}
      onSubmit={save}
    >
      {!agent && <TextField label="Name of the agent" placeholder="name, such as mine" value={name} onText={setName} />}
      <TextField label="Command of the agent" placeholder="my-agent --acp" value={command} onText={setCommand} />
      {kept.length > 0 && (
        <ul class="settings-rules">
          {kept.map((one) => (
            <Removable
              key={one}
              text={line(one, 60)}
              note="set, not shown"
              label={`Remove the variable ${line(one, 60)}`}
              onRemove={() => keep(kept.filter((other) => other !== one))}
            />
          ))}
        </ul>
      )}
      <VariablesField
        label="Variables to set"
        placeholder={kept.length > 0 ? "NAME=value to add or replace one, a line each" : "NAME=value, a line each"}
        value={variables}
        rows={2}
        onText={setVariables}
      />
      <Button type="submit">Save</Button>
      <Button onClick={onCancel}>Cancel</Button>
      <Trouble text={trouble} />
    </Form>
  );
}
