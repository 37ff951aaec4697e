/** One setting: its title and its control; hover and focus show its description and where its value comes from. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import type { AgentInfo } from "../../state/types.gen";
import { Button, Choice, coded, TextButton } from "../controls";
import { kernelText } from "../kernel-text";
import { line, plain } from "../plain";
import { AgentOrder, nameOf, ShownAgents, ShownModels } from "./agent-lists";
import { Fold, Removable, Switch } from "./fields";
import { FolderChooser } from "./folder";
import { hasOwn, inBox, isChanged, type OfferedModel, readTyped, resetTo, type Setting, sourceOf, typed } from "./list";
import { type Program, ProgramForm, useForget, useTyped } from "./program-form";

/** The reason why this browser shows no notifications. */
export const BLOCKED =
  globalThis.isSecureContext === false
    ? "The browser shows notifications for https pages and for this machine's own pages only."
    : "The browser blocks notifications from this page. Allow them in the browser's settings for this site, then turn this on again.";

interface RowProps {
  setting: Setting;
  agents: readonly AgentInfo[];
  models: readonly OfferedModel[];
  isHere: boolean;
  readonly request: Request;
  onChange: (value: unknown) => void;
  /** Clears the refusal once the user has undone the typed text. */
  onBack: () => void;
  onServer: McpServersProps["onChange"];
  children: ComponentChildren;
}

export function Row({ setting, isHere, request, onChange, onBack, children, ...rest }: RowProps) {
  const { name, source, file } = setting;
  const title = kernelText(line(setting.title, 60));
  const isLocked = source === "site";
  const isFixed = isLocked || (isHere ? !setting.isTrait : file === "");
  const canReset = isHere ? source === "%config" || source === "startup" : hasOwn(setting);
  const id = `setting-${name}`;
  const list = listOf({ setting, isFixed, onChange, onBack, ...rest });
  const reset = { "aria-label": `Reset ${title}`, title: resetTo(setting), onClick: () => onChange(null) };
  return (
    <div class="setting" role="group" aria-labelledby={`${id}-title`} aria-describedby={id} data-at={name}>
      {list ? (
        <Fold id={`${id}-title`} title={title} summary={list.summary} isChanged={isChanged(setting)}>
          {list.node}
          {canReset && <TextButton {...reset}>Reset</TextButton>}
        </Fold>
      ) : (
        <div class="row setting-line">
          <span id={`${id}-title`} class="setting-title">
            {title}
          </span>
          {canReset && <button type="button" class="setting-dot" {...reset} />}
          {!canReset && isChanged(setting) && <span class="setting-dot" />}
          <span class="row setting-control">
            <Control {...{ setting, isFixed, onChange, onBack }} agents={rest.agents} label={title} />
          </span>
        </div>
      )}
      {isLocked && (
        <p class="dim small setting-lock" title={setting.where}>
          Set by your administrator
        </p>
      )}
      {setting.kind === "folder" && !isFixed && (
        <FolderChooser label={title} from={typed(setting.value)} request={request} onChoose={onChange} />
      )}
      <div id={id} class="setting-tip">
        <p>{coded(plain(kernelText(setting.about)))}</p>
        {isFixed && !isLocked && (
          <p>{isHere ? "Can't be set for this kernel alone." : "It can't be saved in a file."}</p>
        )}
        <p class="dim small">
          {sourceOf(setting)} · <code>{name}</code>
        </p>
      </div>
      {name === "notifications" && setting.value === true && <BrowserPermission />}
      {children}
    </div>
  );
}

/** If notifications are on but this browser shows none: the reason, and what to do. */
function BrowserPermission() {
  const [permission, setPermission] = useState(globalThis.Notification?.permission ?? "denied");
  if (permission === "granted") return null;
  if (permission === "denied") return <p class="error-text">{BLOCKED}</p>;
  const ask = async () => setPermission(await Notification.requestPermission());
  return (
    <p class="error-text">
      On, but this browser hasn't been asked yet. <Button onClick={() => void ask()}>Ask the browser</Button>
    </p>
  );
}

const hiddenModels = (number: number) =>
  number === 0 ? "All" : `${number} ${number === 1 ? "hidden model" : "hidden models"}`;

interface ControlProps {
  setting: Setting;
  agents: readonly AgentInfo[];
  isFixed: boolean;
  onChange: (value: unknown) => void;
  onBack: () => void;
}

/** The control of a setting that is a list of known names: it opens below its row. */
function listOf({
  setting,
  agents,
  models,
  isFixed,
  onChange,
  onBack,
  onServer,
}: ControlProps & Pick<RowProps, "models" | "onServer">) {
  const { name, kind, value } = setting;
  if (!Array.isArray(value)) return undefined;
  const names = value.map(String);
  const named = names.map((one) => nameOf(agents, one)).join(", ");
  const props = { agents, names, isFixed, onChange };
  if (name === "agents_order" && agents.length > 0)
    return { summary: named || "Usual", node: <AgentOrder {...props} /> };
  if (name === "agents_hidden" && agents.length > 0)
    return { summary: named ? `All but ${named}` : "All", node: <ShownAgents {...props} /> };
  if (name === "models_hidden")
    return { summary: hiddenModels(names.length), node: <ShownModels {...props} models={models} /> };
  if (kind !== "servers") return undefined;
  const add = names.length === 0 && (
    <Control {...{ setting, agents, isFixed, onChange, onBack }} label={kernelText(line(setting.title, 60))} />
  );
  const servers = <McpServers names={names} isFixed={isFixed} onChange={onServer} />;
  const node = (
    <>
      {servers}
      {add}
    </>
  );
  return { summary: names.join(", ") || "None", node };
}

function Control({ setting, agents, isFixed, label, onChange, onBack }: ControlProps & { label: string }) {
  const { kind, value, choices } = setting;
  if (kind === "switch") {
    return <Switch aria-label={label} isOn={value === true} isFixed={isFixed} onSwitch={onChange} />;
  }
  if (kind === "choice" || (kind === "agent" && agents.length > 0)) {
    const options =
      kind === "agent"
        ? [["", "Last used"] as const, ...agents.map(({ provider }) => [provider, nameOf(agents, provider)] as const)]
        : choices.map(([one, name]) => [one, kernelText(name)] as const);
    const known = options.some(([one]) => one === value)
      ? options
      : [[typed(value), typed(value)] as const, ...options];
    const named = known.map(([one, name]) => [one, line(name, 60)] as const);
    return <Choice label={label} options={named} value={typed(value)} disabled={isFixed} onChoose={onChange} />;
  }
  return <TypedBox {...{ setting, isFixed, label, onChange, onBack }} />;
}

interface McpServersProps {
  /** The names of the servers in the settings. */
  names: readonly string[];
  isFixed: boolean;
  onChange: (name: string, server: Program | undefined) => void;
}

/** MCP servers: their names, *Remove*, and a form for one more. Never shows their commands and variables. */
function McpServers({ names, isFixed, onChange }: McpServersProps) {
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

function NewServer({ names, onAdd }: { names: readonly string[]; onAdd: McpServersProps["onChange"] }) {
  const [name, setName] = useTyped(FORM, "name", "");
  const forget = useForget();
  useEffect(() => {
    if (!names.includes(name.trim())) return;
    forget(FORM); // the server was added
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

interface TypedBoxProps {
  setting: Setting;
  isFixed: boolean;
  label: string;
  onChange: (value: unknown) => void;
  onBack: () => void;
}

/** Typed text is sent on Enter, when the focus leaves the box, or when the settings close. */
function TypedBox({ setting, isFixed, label, onChange, onBack }: TypedBoxProps) {
  const { kind, empty } = setting;
  const before = inBox(setting);
  const box = useRef<HTMLInputElement>(null);
  const previous = useRef(before);
  /** The text of the box when the kernel was last asked, or when it last sent the value. */
  const known = useRef(before);
  const commit = () => {
    const text = box.current?.value;
    if (text === undefined) return;
    if (text === before && known.current !== before) onBack();
    known.current = text;
    if (text !== before) onChange(readTyped(setting, text));
  };
  const leave = () => {
    if (box.current?.value !== known.current) commit();
  };
  const latest = useRef(leave);
  latest.current = leave;
  useLayoutEffect(() => {
    // The value has changed: shows it, unless the user has already typed another one.
    const text = box.current?.value ?? "";
    if (
      box.current &&
      (text === previous.current || inBox({ ...setting, value: readTyped(setting, text) }) === before)
    ) {
      box.current.value = before;
      known.current = before;
    }
    previous.current = before;
  }, [before]);
  useLayoutEffect(() => () => latest.current(), []);
  return (
    <input
      ref={box}
      class="field"
      inputMode={kind === "number" ? "decimal" : "text"}
      aria-label={label}
      defaultValue={before}
      disabled={isFixed}
      placeholder={empty ? kernelText(empty) : kind === "names" ? "names, with commas" : ""}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !event.isComposing) commit();
      }}
      onBlur={leave}
    />
  );
}
