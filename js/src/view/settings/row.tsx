/** One setting: what it is, its control, where its value comes from and where a change is written. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import type { AgentInfo } from "../../state/types.gen";
import { Button, Choice, TextButton } from "../controls";
import { line, plain } from "../plain";
import { AgentOrder, HiddenAgents, HiddenModels } from "./agent-lists";
import { Switch } from "./fields";
import { FolderChooser } from "./folder";
import { type OfferedModel, type Setting, shown, sourceName, typed } from "./list";
import { McpServers, type Props as McpServersProps } from "./servers";
import { TypedBox } from "./typed-box";

/** Why this browser shows no notifications. */
export const BLOCKED =
  globalThis.isSecureContext === false
    ? "The browser allows notifications of https addresses and of this machine's own pages alone."
    : "The browser does not allow notifications of this page. Allow them in its settings of this site, and switch this on again.";

/** A sentence of ours, with what stands between backticks as code. */
function withCode(text: string) {
  return plain(text)
    .split("`")
    .map((piece, at) => (at % 2 ? <code key={at}>{piece}</code> : piece));
}

interface RowProps {
  setting: Setting;
  agents: readonly AgentInfo[];
  models: readonly OfferedModel[];
  isHere: boolean;
  readonly request: Request;
  onChange: (value: unknown) => void;
  onServer: McpServersProps["onChange"];
  children: ComponentChildren;
}

export function Row({ setting, agents, models, isHere, request, onChange, onServer, children }: RowProps) {
  const { name, title, about, source, where, below, file } = setting;
  const isFixed = isHere ? !setting.isTrait : file === "";
  const overrides = below.find((layer) => layer.source === "user" && source !== "user");
  const canReset = isHere ? source === "%config" || source === "startup" : setting.inFile !== undefined;
  const id = `setting-${name}`;
  return (
    <div class="setting" role="group" aria-labelledby={`${id}-title`} aria-describedby={`${id}-about`}>
      <div class="row wraps setting-line">
        <span id={`${id}-title`} class="setting-title">
          {line(title, 60)}
        </span>
        <Control {...{ setting, agents, models, isFixed, onChange }} label={line(title, 60)} />
        {setting.kind === "folder" && !isFixed && (
          <FolderChooser
            label={line(title, 60)}
            from={typed(setting.value)}
            request={request}
            onChoose={(path) => onChange(path)}
          />
        )}
      </div>
      {setting.kind === "servers" && Array.isArray(setting.value) && (
        <McpServers names={setting.value.map(String)} isFixed={isFixed} onChange={onServer} />
      )}
      <p id={`${id}-about`} class="dim small">
        {withCode(about)}
      </p>
      <p class="dim small setting-source">
        <code>{name}</code> {isFixed && isHere ? "can't be set for this kernel alone; it" : ""}{" "}
        {source === "default" ? "is at its default" : `comes from ${sourceName(source)}`}
        {where && <span title={line(where, 400)}> ({line(where.split(/[\\/]/).at(-1) ?? "", 60)})</span>}
        {overrides && `; your file says ${shown(setting, overrides.value)}`}. Applies {line(setting.counts, 40)}.{" "}
        {!isHere && file && <span title={line(file, 400)}>Written to {line(file.split(/[\\/]/).at(-1), 40)}.</span>}
        {canReset && (
          <TextButton aria-label={`Reset ${line(title, 60)}`} onClick={() => onChange(null)}>
            Reset
          </TextButton>
        )}
      </p>
      {name === "notifications" && setting.value === true && <BrowserPermission />}
      {children}
    </div>
  );
}

/** Where notifications are on and this browser shows none: why, and what to do. */
function BrowserPermission() {
  const [permission, setPermission] = useState(globalThis.Notification?.permission ?? "denied");
  if (permission === "granted") return null;
  if (permission === "denied") return <p class="error-text">{BLOCKED}</p>;
  const ask = async () => setPermission(await Notification.requestPermission());
  return (
    <p class="error-text">
      It is on, and this browser was not asked yet. <Button onClick={() => void ask()}>Ask the browser</Button>
    </p>
  );
}

interface ControlProps {
  setting: Setting;
  agents: readonly AgentInfo[];
  models: readonly OfferedModel[];
  isFixed: boolean;
  label: string;
  onChange: (value: unknown) => void;
}

function Control({ setting, agents, models, isFixed, label, onChange }: ControlProps) {
  const { name, kind, value, choices } = setting;
  const List = name === "agents_order" ? AgentOrder : name === "agents_hidden" ? HiddenAgents : undefined;
  if (List && agents.length > 0 && Array.isArray(value))
    return <List agents={agents} names={value.map(String)} isFixed={isFixed} onChange={onChange} />;
  if (name === "models_hidden" && Array.isArray(value))
    return <HiddenModels {...{ models, agents, isFixed, onChange }} names={value.map(String)} />;
  if (kind === "switch") {
    return <Switch aria-label={label} isOn={value === true} isFixed={isFixed} onSwitch={onChange} />;
  }
  if (kind === "choice" || (kind === "agent" && agents.length > 0)) {
    const options = kind === "agent" ? agents.map(({ provider }) => [provider, provider] as const) : choices;
    const known = options.some(([one]) => one === value)
      ? options
      : [[typed(value), typed(value)] as const, ...options];
    const named = known.map(([one, name]) => [one, line(name, 60)] as const);
    return <Choice label={label} options={named} value={typed(value)} disabled={isFixed} onChoose={onChange} />;
  }
  if (kind === "servers" && Array.isArray(value) && value.length > 0) return null;
  return <TypedBox setting={setting} isFixed={isFixed} label={label} onChange={onChange} />;
}
