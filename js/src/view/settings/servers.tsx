/** MCP servers of the settings: their names, *Remove*, and a form for one more. What they are started with is never shown. */
import { useState } from "preact/hooks";
import { line, plain } from "../plain";

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
          <li key={name}>
            <code>{line(name, 100)}</code>
            <button
              type="button"
              class="text-button small"
              aria-label={`Remove the MCP server ${line(name, 100)}`}
              disabled={isFixed}
              onClick={() => onChange(name, undefined)}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      {!isFixed && <NewServer onAdd={onChange} />}
    </div>
  );
}

function NewServer({ onAdd }: { onAdd: Props["onChange"] }) {
  const [name, setName] = useState("");
  const [command, setCommand] = useState("");
  const [variables, setVariables] = useState("");
  const [trouble, setTrouble] = useState("");
  const add = () => {
    const env = readVariables(variables);
    if (!name.trim() || !command.trim()) return setTrouble("A server has a name, and a command or an address.");
    if (!env) return setTrouble("Variables are lines as NAME=value.");
    setTrouble("");
    onAdd(name.trim(), { line: command.trim(), env });
  };
  return (
    <form
      class="settings-form"
      aria-label="Add an MCP server"
      onSubmit={(event) => {
        event.preventDefault();
        add();
      }}
    >
      <input
        class="field"
        aria-label="Name of the server"
        placeholder="name"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <input
        class="field"
        aria-label="Command or address"
        placeholder="uvx mcp-server-git, or https://…"
        value={command}
        onInput={(event) => setCommand(event.currentTarget.value)}
      />
      <textarea
        class="field"
        rows={1}
        aria-label="Variables for the command"
        placeholder="NAME=value, a line each"
        value={variables}
        onInput={(event) => setVariables(event.currentTarget.value)}
      />
      <button type="submit" class="button small">
        Add server
      </button>
      {trouble && (
        <p class="error-text" role="alert">
          {plain(trouble)}
        </p>
      )}
    </form>
  );
}

/** Lines as `NAME=value`; undefined where one is none. */
export function readVariables(text: string): Record<string, string> | undefined {
  const lines = text.split("\n").filter((one) => one.trim());
  const pairs = lines.map((one) => [one.slice(0, one.indexOf("=")).trim(), one.slice(one.indexOf("=") + 1)] as const);
  const isRead = lines.every((one, at) => one.includes("=") && /^[A-Za-z_][A-Za-z0-9_]*$/.test(pairs[at]?.[0] ?? ""));
  return isRead ? Object.fromEntries(pairs) : undefined;
}
