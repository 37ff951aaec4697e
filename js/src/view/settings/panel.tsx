/** The settings: each with where its value comes from and where a change is written; the policy's rules, trusted folders. */

import type { ReadonlySignal } from "@preact/signals";
import { h, render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import type { AgentInfo, RootState } from "../../state/types.gen";
import { Waiting } from "../icons";
import { line, plain, reason } from "../plain";
import { useRoot } from "../use-root";
import { AgentOrder, HiddenAgents, HiddenModels } from "./agent-lists";
import { FolderChooser } from "./folder";
import { KeptContext } from "./kept";
import { type Listed, type OfferedModel, type Setting, shown, sourceName, typed } from "./list";
import { OwnAgents } from "./own-agents";
import { Policy } from "./policy";
import { McpServers, type Props as McpServersProps } from "./servers";
import CSS from "./settings.css";
import { TypedBox } from "./typed-box";

/** What the settings need of the chat. */
export interface SettingsContext {
  readonly root: ReadonlySignal<RootState | undefined>;
  readonly request: Request;
  /** Another value each time that settings have changed, in whatever window or file. */
  readonly settingsChanged?: ReadonlySignal<unknown> | undefined;
  /** Says a sentence to screen readers, politely. */
  announce(sentence: string): void;
  /** Says why what was typed last is not set, where the settings were closed meanwhile. */
  refused?(why: string): void;
  /** What is typed and not saved. */
  readonly kept?: Map<string, unknown>;
}

/** Shows the settings in `into`; the result takes them away again. */
export function mountSettings(into: HTMLElement, context: SettingsContext): () => void {
  const style = into.ownerDocument.createElement("style");
  style.textContent = CSS;
  const body = into.ownerDocument.createElement("div");
  body.className = "settings";
  into.append(style, body);
  const settings = h(Settings, { context });
  render(h(KeptContext.Provider, { value: context.kept ?? new Map(), children: settings }), body);
  return () => {
    render(null, body);
    style.remove();
    body.remove();
  };
}

function focusedIn(at: HTMLElement | null): Element | null | undefined {
  return (at?.getRootNode() as ShadowRoot | undefined)?.activeElement;
}

/** Asks the kernel for a change; what must be confirmed comes back as a sentence. */
export type Change = (method: Changing, params: object, done: string) => Promise<void>;

/** The requests that change something, once the user has confirmed what must be. */
type Changing = "changeSetting" | "changeMcpServer" | "changeOwnAgent" | "changePolicy";

interface Asked {
  readonly method: Changing;
  readonly params: object;
  readonly sentence: string;
  readonly done: string;
  /** Where it is asked: the setting's name, or a part of the policy. */
  readonly at: string;
}

interface Said {
  readonly at: string;
  readonly text: string;
  readonly isTrouble: boolean;
}

function Settings({ context }: { context: SettingsContext }) {
  const { listed, trouble, load } = useListed(context);
  const [isHere, setHere] = useState(false);
  const [find, setFind] = useState("");
  const [asked, ask] = useState<Asked>();
  const [said, say] = useState<Said>();
  const root = useRoot(context.root);
  const search = useRef<HTMLInputElement>(null);
  const isListed = listed !== undefined;
  useLayoutEffect(() => {
    // The panel had the focus while the settings were read, unless the reader went elsewhere meanwhile.
    if (focusedIn(search.current)?.matches(".panel")) search.current?.focus();
  }, [isListed]);
  const isClosed = useRef(false);
  useLayoutEffect(
    () => () => {
      isClosed.current = true;
    },
    [],
  );
  const change = async (at: string, method: Changing, params: object, done: string, title = at): Promise<void> => {
    ask(undefined);
    say(undefined);
    try {
      const { confirm } = await context.request(method, params as never);
      if (typeof confirm === "string") {
        if (isClosed.current) context.refused?.(`${title}: ${confirm} Open the settings to confirm it.`);
        return ask({ at, method, params, done, sentence: confirm });
      }
      say({ at, text: done, isTrouble: false });
      context.announce(done);
    } catch (error) {
      if (isClosed.current) context.refused?.(`${title}: ${reason(error)}`);
      say({ at, text: reason(error), isTrouble: true });
    }
    if (!isClosed.current) await load();
  };
  const set = async (setting: Setting, value: unknown): Promise<void> => {
    if (setting.name === "notifications" && value === true && !(await mayNotify()))
      return say({ at: setting.name, text: BLOCKED, isTrouble: true });
    await change(
      setting.name,
      "changeSetting",
      changed(setting, value, isHere),
      done(setting, value),
      named(setting, value),
    );
  };
  if (!listed) {
    return trouble ? (
      <div class="settings-empty" role="alert">
        <p>The settings couldn't be listed: {trouble}</p>
        <button type="button" class="button small" onClick={load}>
          Try again
        </button>
      </div>
    ) : (
      <Waiting text="Reading the settings…" />
    );
  }
  const wanted = find.trim().toLowerCase();
  const groups = listed.groups
    .map(({ title, settings }) => ({
      title,
      settings: settings.filter((one) => `${one.name} ${one.title} ${one.about}`.toLowerCase().includes(wanted)),
    }))
    .filter(({ settings }) => settings.length > 0);
  const below = (at: string) => (
    <>
      {asked?.at === at && (
        <Question
          sentence={asked.sentence}
          onYes={() => void change(at, asked.method, { ...asked.params, confirmed: asked.sentence }, asked.done)}
          onNo={() => {
            ask(undefined);
            void load();
          }}
        />
      )}
      {said?.at === at && (
        <p class={said.isTrouble ? "error-text" : "dim small"} role={said.isTrouble ? "alert" : undefined}>
          {plain(said.text)}
        </p>
      )}
    </>
  );
  return (
    <div class="settings-inside">
      <div class="settings-head">
        <input
          class="field"
          ref={search}
          type="search"
          aria-label="Find a setting"
          placeholder="Find a setting"
          value={find}
          onInput={(event) => setFind(event.currentTarget.value)}
        />
        <label>
          <span class="small">Changes go to</span>{" "}
          <select
            class="field"
            value={isHere ? "here" : "file"}
            onChange={(event) => setHere(event.currentTarget.value === "here")}
          >
            <option value="file">your file, for every kernel</option>
            <option value="here">this kernel alone</option>
          </select>
        </label>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard */}
      <section class="settings-list" aria-label="All settings" tabIndex={0}>
        {listed.problems.map((problem) => (
          <p key={problem} class="error-text" role="alert">
            {plain(problem)}
          </p>
        ))}
        {groups.length === 0 && <p class="dim">No setting has “{line(find, 60)}” in its name or meaning.</p>}
        {groups.map(({ title, settings }) => (
          <section key={title} aria-label={line(title, 60)}>
            <h4>{line(title, 60)}</h4>
            {settings.map((setting) => (
              <Row
                key={setting.name}
                setting={setting}
                agents={root?.agents ?? []}
                models={listed.models ?? []}
                isHere={isHere}
                request={context.request}
                onChange={(value) => void set(setting, value)}
                onServer={(name, server) =>
                  void change(
                    setting.name,
                    "changeMcpServer",
                    { name, here: isHere, ...(server && { server }) },
                    server ? `MCP server ${line(name, 60)} added.` : `MCP server ${line(name, 60)} removed.`,
                  )
                }
              >
                {below(setting.name)}
              </Row>
            ))}
            {listed.agents && settings.some(({ name }) => name === "agent") && (
              <OwnAgents
                agents={listed.agents}
                onChange={(name, state, agent) =>
                  void change(
                    "own agents",
                    "changeOwnAgent",
                    { name, state, ...(agent && { agent }) },
                    agent ? `Agent ${line(name, 60)} saved.` : `Agent ${line(name, 60)} removed.`,
                  )
                }
              >
                {below("own agents")}
              </OwnAgents>
            )}
            {settings.some(({ name }) => name === "permissions") && (
              <Policy
                listed={listed}
                request={context.request}
                below={below}
                change={(at, params, done) => void change(at, "changePolicy", params, done)}
              />
            )}
          </section>
        ))}
      </section>
    </div>
  );
}

const BLOCKED =
  globalThis.isSecureContext === false
    ? "The browser allows notifications of https addresses and of this machine's own pages alone."
    : "The browser does not allow notifications of this page. Allow them in its settings of this site, and switch this on again.";

/** Asks the browser, which asks the user where that was not answered before. */
async function mayNotify(): Promise<boolean> {
  return "Notification" in globalThis && (await Notification.requestPermission()) === "granted";
}

function changed({ name, inFile }: Setting, value: unknown, here: boolean): object {
  return { name, value, here, ...(!here && { was: inFile ?? null, checks: true }) };
}

/** The setting, with what it was to be: it is no longer seen where it was typed. */
function named({ title }: Setting, value: unknown): string {
  return `${line(title, 60)} (${line(typed(value), 200)})`;
}

function done({ title }: Setting, value: unknown): string {
  return value === null ? `${title}: reset.` : `${title}: changed.`;
}

/** The settings as the kernel lists them, and again when that is wanted. */
function useListed({ request, settingsChanged }: SettingsContext) {
  const [listed, setListed] = useState<Listed>();
  const [trouble, setTrouble] = useState("");
  const load = async () => {
    try {
      setListed(await request("listSettings", {}));
      setTrouble("");
    } catch (error) {
      setTrouble(reason(error));
    }
  };
  useEffect(() => {
    void load();
    const before = settingsChanged?.peek();
    // Never switched off: JupyterLab's Settings editor follows on the same connection.
    request("watchSettings", { on: true }).catch(() => undefined); // of an older kernel
    return settingsChanged?.subscribe((value) => {
      if (value !== before) void load();
    });
  }, []);
  return { listed, trouble, load };
}

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
  children: preact.ComponentChildren;
}

function Row({ setting, agents, models, isHere, request, onChange, onServer, children }: RowProps) {
  const { name, title, about, source, where, below, file } = setting;
  const isFixed = isHere ? !setting.isTrait : file === "";
  const overrides = below.find((layer) => layer.source === "user" && source !== "user");
  const canReset = isHere ? source === "%config" || source === "startup" : setting.inFile !== undefined;
  const id = `setting-${name}`;
  return (
    <div class="setting" role="group" aria-labelledby={`${id}-title`} aria-describedby={`${id}-about`}>
      <div class="setting-line">
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
          <button
            type="button"
            class="text-button"
            aria-label={`Reset ${line(title, 60)}`}
            onClick={() => onChange(null)}
          >
            Reset
          </button>
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
      It is on, and this browser was not asked yet.{" "}
      <button type="button" class="button small" onClick={() => void ask()}>
        Ask the browser
      </button>
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
    return (
      <input
        type="checkbox"
        aria-label={label}
        checked={value === true}
        disabled={isFixed}
        onChange={(event) => {
          onChange(event.currentTarget.checked);
          event.currentTarget.checked = value === true; // as the kernel says, once it has answered
        }}
      />
    );
  }
  if (kind === "choice" || (kind === "agent" && agents.length > 0)) {
    const options = kind === "agent" ? agents.map(({ provider }) => [provider, provider] as const) : choices;
    const known = options.some(([one]) => one === value)
      ? options
      : [[typed(value), typed(value)] as const, ...options];
    return (
      <select
        class="field"
        aria-label={label}
        value={typed(value)}
        disabled={isFixed}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          event.currentTarget.value = typed(value);
          onChange(chosen);
        }}
      >
        {known.map(([one, name]) => (
          <option key={one} value={one}>
            {line(name, 60)}
          </option>
        ))}
      </select>
    );
  }
  if (kind === "servers" && Array.isArray(value) && value.length > 0) return null;
  return <TypedBox setting={setting} isFixed={isFixed} label={label} onChange={onChange} />;
}

/** What lets agents do more is asked first. */
function Question({ sentence, onYes, onNo }: { sentence: string; onYes: () => void; onNo: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => button.current?.focus(), []);
  return (
    <div class="setting-question" role="group" aria-label="Confirm the change">
      <p>{plain(sentence)}</p>
      <button type="button" class="button small" ref={button} onClick={onNo}>
        Cancel
      </button>{" "}
      <button type="button" class="button small primary" onClick={onYes}>
        Change it
      </button>
    </div>
  );
}
