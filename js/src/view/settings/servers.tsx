/** MCP servers of the settings: their names, *Remove*, and a form for one more. What they are started with is never shown. */
import { useEffect } from "preact/hooks";
import { line } from "../plain";
import { Removable } from "./fields";
import { type Program, ProgramForm, useForget, useTyped } from "./program-form";

export interface Props {
  /** The names of those that there are. */
  names: readonly string[];
  isFixed: boolean;
  onChange: (name: string, server: Program | undefined) => void;
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

const FORM = "server";

function NewServer({ names, onAdd }: { names: readonly string[]; onAdd: Props["onChange"] }) {
  const [name, setName] = useTyped(FORM, "name", "");
  const forget = useForget();
  useEffect(() => {
    if (!names.includes(name.trim())) return;
    forget(FORM); // it was added
    setName("");
  }, [names.join("\n")]);
  return (
    <ProgramForm
      form={FORM}
      label="Add an MCP server"
      name={{ label: "Name of the server", placeholder: "name" }}
      command={{ label: "Command or address", placeholder: "uvx mcp-server-git, or https://…" }}
      variables={{ label: "Variables for the command", placeholder: "NAME=value, one per line", rows: 1 }}
      submit="Add server"
      check={(name, command) => (name && command ? "" : "Enter a name, and a command or an address.")}
      onSave={onAdd}
    />
  );
}
