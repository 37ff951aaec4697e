/** MCP servers of the settings: their names, *Remove*, and a form for one more. What they are started with is never shown. */
import { useEffect, useState } from "preact/hooks";
import { Button, Form, TextField, Trouble } from "../controls";
import { line } from "../plain";
import { NO_VARIABLES, Removable, readVariables, VariablesField } from "./fields";
import { useForget, useKept } from "./kept";

export interface Props {
  /** The names of those that there are. */
  names: readonly string[];
  isFixed: boolean;
  onChange: (name: string, server: { line: string; env: Record<string, string> } | undefined) => void;
}

export function McpServers({ names, isFixed, onChange }: Props) {
  return (
    <div class="setting-servers">
      <ul class="settings-rules">
        {names.map((name) => (
          <Removable
            key={name}
            text={line(name, 100)}
            label={`Remove the MCP server ${line(name, 100)}`}
            disabled={isFixed}
            onRemove={() => onChange(name, undefined)}
          />
        ))}
      </ul>
      {!isFixed && <NewServer names={names} onAdd={onChange} />}
    </div>
  );
}

const FORM = "server ";

function NewServer({ names, onAdd }: { names: readonly string[]; onAdd: Props["onChange"] }) {
  const [name, setName] = useKept(`${FORM}name`, "");
  const [command, setCommand] = useKept(`${FORM}command`, "");
  const [variables, setVariables] = useKept(`${FORM}variables`, "");
  const [trouble, setTrouble] = useState("");
  const forget = useForget();
  useEffect(() => {
    if (!names.includes(name.trim())) return;
    forget(FORM); // it was added
    setName("");
  }, [names.join("\n")]);
  const add = () => {
    const env = readVariables(variables);
    if (!name.trim() || !command.trim()) return setTrouble("A server has a name, and a command or an address.");
    if (!env) return setTrouble(NO_VARIABLES);
    setTrouble("");
    onAdd(name.trim(), { line: command.trim(), env });
  };
  return (
    <Form class="row wraps settings-form" label="Add an MCP server" onSubmit={add}>
      <TextField label="Name of the server" placeholder="name" value={name} onText={setName} />
      <TextField
        label="Command or address"
        placeholder="uvx mcp-server-git, or https://…"
        value={command}
        onText={setCommand}
      />
      <VariablesField
        label="Variables for the command"
        placeholder="NAME=value, a line each"
        value={variables}
        rows={1}
        onText={setVariables}
      />
      <Button type="submit">Add server</Button>
      <Trouble text={trouble} />
    </Form>
  );
}
