/** The panel of the agent pill: the agents, those to install below them, and the options of the chosen one. */

import type { ReadonlySignal } from "@preact/signals";
import { h, type TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Answer, Request } from "../../state/answers";
import type { Action, AgentInfo, AgentProcess, AgentSetup, RootState, SessionState } from "../../state/types.gen";
import { Button, Form, TextButton, TextField, useFocused } from "../controls";
import { CopyButton } from "../copy";
import { mountPanel, useValue } from "../fetched-panel";
import { Icon, Spinner } from "../icons";
import { isRemote } from "../identity";
import { targetOf } from "../keyboard";
import { Terminal } from "../parts/terminal";
import { line, plain, reason } from "../plain";
import CSS from "./agents.css";
import { Options } from "./options";

/** The conversation that the pill belongs to. */
export interface Chosen {
  /** The agent's name; empty if none is chosen. */
  readonly agent: string;
  /** Undefined until the conversation exists. */
  readonly session: SessionState | undefined;
  /** True if the conversation has a turn: another agent then gets a new conversation. */
  readonly hasBegun: boolean;
  readonly isStarting: boolean;
  readonly disabled: boolean;
  /** The conversation's usage so far, in words. */
  readonly usage: string;
  /** The folder of the next conversation, as the user typed it; empty for the default. */
  readonly folder: string;
  /** The message that the chosen agent will get; empty if none waits. */
  readonly waits: string;
}

export interface AgentsContext {
  readonly root: ReadonlySignal<RootState | undefined>;
  readonly chosen: ReadonlySignal<Chosen>;
  readonly request: Request;
  /** True if the list shows agents that are not installed from the start. */
  readonly showsMissing: boolean;
  /** Starts a conversation and closes the list; with `stays`, the list stays open. */
  start(agent: string, stays?: boolean): void;
  act(action: Action): void;
  setFolder(folder: string): void;
  announce(sentence: string): void;
}

/** A longer list of agents gets a search field. */
const MOST_UNSEARCHED = 8;

export function mountAgents(into: HTMLElement, context: AgentsContext): () => void {
  return mountPanel(into, CSS, "agents", h(AgentList, { context }));
}

const nameOf = (agent: AgentInfo) => line(agent.displayName || agent.provider, 60);
const isRunning = (setup: AgentSetup | undefined) => setup?.state === "running" || setup?.state === "checking";

function AgentList({ context }: { context: AgentsContext }) {
  const root = useValue(context.root);
  const chosen = useValue(context.chosen);
  const all = root?.agents ?? [];
  const agents = all.filter((agent) => !agent.hidden || agent.provider === chosen.agent);
  const isBusy = all.some(({ setup }) => isRunning(setup));
  const ours = useStartAfter(all, context);
  const [words, type] = useState("");
  const isWanted = (agent: AgentInfo) =>
    `${nameOf(agent)} ${agent.provider}`.toLowerCase().includes(words.toLowerCase());
  const installed = agents.filter((agent) => !agent.missing);
  const missing = agents.filter((agent) => agent.missing);
  const [showsMissing, showMissing] = useState(context.showsMissing || installed.length === 0);
  const box = useRef<HTMLDivElement>(null);
  const isLong = agents.length > MOST_UNSEARCHED;
  useLayoutEffect(() => {
    const current = box.current?.querySelector<HTMLElement>("[aria-pressed=true]");
    (current ?? box.current?.querySelector<HTMLElement>("input, button"))?.focus();
  }, []);
  const matches = installed.filter(isWanted);
  const others = missing.filter(isWanted);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only hears what its buttons are told
    <div class="column agents-pop" ref={box} onKeyDown={(event) => moveIn(event, box.current as HTMLElement)}>
      {chosen.waits && <p class="note">Choose an agent. It gets: “{line(chosen.waits, 120)}”</p>}
      {isLong && (
        <TextField type="search" label="Search agents" placeholder="Search agents…" value={words} onText={type} />
      )}
      <div class="pop-list" role="group" aria-label="Agents">
        {matches.map((agent) => (
          <button
            type="button"
            key={agent.provider}
            class="pop-item"
            data-item
            aria-pressed={agent.provider === chosen.agent}
            disabled={chosen.disabled}
            onClick={() => context.start(agent.provider)}
          >
            <span class="pop-name cut">{nameOf(agent)}</span>
            {agent.description && agent.description !== "Installed." && (
              <span class="dim small">{line(agent.description, 160)}</span>
            )}
          </button>
        ))}
        {matches.length + (words ? others.length : 0) === 0 && agents.length > 0 && words && (
          <p class="note">No agent has this name.</p>
        )}
        {agents.length === 0 && (
          <p class="note">
            No agents found. Run <code>%agents known</code> in a cell to see which you can install.
          </p>
        )}
      </div>
      {chosen.hasBegun && <p class="note">Choosing another agent starts a new conversation; this one stays open.</p>}
      {(missing.length > 0 || !isRemote(root)) && (
        <>
          <button
            type="button"
            class="row fold-head"
            data-item
            aria-expanded={showsMissing || words !== ""}
            onClick={() => showMissing(!showsMissing)}
          >
            <Icon name="chevron" className="fold-mark" />
            {missing.length > 0 ? `More agents (${missing.length} to install)` : "Check agents"}
          </button>
          {(showsMissing || words !== "") && (
            <div class="agent-list">
              {[...others, ...(showsMissing ? matches : [])].map((agent) => (
                <Row key={agent.provider} agent={agent} isBusy={isBusy} ours={ours} context={context} />
              ))}
            </div>
          )}
        </>
      )}
      <Settings chosen={chosen} look={root?.config?.values.look} context={context} agents={agents} />
    </div>
  );
}

/** The arrow keys move through the list, or the models' list if focused; a letter goes into its search field. */
function moveIn(event: TargetedKeyboardEvent<HTMLElement>, all: HTMLElement): void {
  const focused = (all.getRootNode() as ShadowRoot).activeElement as HTMLElement | null;
  const models = focused?.closest<HTMLElement>(".long-choice");
  const box = models?.querySelector("[data-item]") ? models : all;
  const items = [...box.querySelectorAll<HTMLElement>("[data-item]:not(:disabled)")];
  const at = items.indexOf(focused as HTMLElement);
  const isField = focused?.matches("input, select") === true;
  if (isField && event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  if (focused?.matches("select")) return;
  const to = targetOf(event.key, ["ArrowUp", "ArrowDown"], at === -1 && event.key === "ArrowUp" ? 0 : at, items.length);
  const letter = event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (to !== undefined) items[to]?.focus();
  else if (letter && at !== -1) {
    const search = box.querySelector<HTMLElement>("[type=search]");
    if (search) return search.focus(); // the letter is typed there
    const begins = (item: HTMLElement) => item.textContent?.trim().toLowerCase().startsWith(event.key.toLowerCase());
    [...items.slice(at + 1), ...items].find(begins)?.focus();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

interface SettingsProps {
  chosen: Chosen;
  look: unknown;
  agents: readonly AgentInfo[];
  context: AgentsContext;
}

/** The options of the chosen agent; before the conversation exists, its folder. */
function Settings({ chosen, look, agents, context }: SettingsProps) {
  const { agent, session, isStarting, hasBegun, disabled } = chosen;
  const known = agents.find(({ provider }) => provider === agent);
  if (!agent) return null;
  const name = known ? nameOf(known) : line(agent, 60);
  const isKnown = (session?.configOptions?.length ?? 0) > 0 || (session?.modes?.availableModes.length ?? 0) > 0;
  return (
    <div class="column pop-settings" role="group" aria-label={`Options of ${name}`}>
      {session && isKnown && <Options session={session} look={look} disabled={disabled} act={context.act} />}
      {!session && !isStarting && (
        <p class="note">
          Models and modes are listed once it runs.{" "}
          <TextButton disabled={disabled} onClick={() => context.start(agent, true)}>
            Start {name}
          </TextButton>
        </p>
      )}
      {isStarting && (
        <p class="note">
          <Spinner /> Starting {name}…
        </p>
      )}
      {session && !isKnown && !isStarting && <p class="note">{name} has no options.</p>}
      <Folder {...{ chosen, context, hasBegun }} />
      <Confinement process={session?.agentProcess} />
      {chosen.usage && <p class="note">{chosen.usage}</p>}
    </div>
  );
}

/** Shows whether the running agent is confined, or acts without asking. */
function Confinement({ process }: { process: AgentProcess | undefined }) {
  if (process?.state !== "running") return null;
  const { actsUnasked, confined, unconfined } = process;
  const words = actsUnasked || (confined ? `Confined: it ${confined}.` : unconfined && `Not confined. ${unconfined}`);
  if (!words) return null;
  // Shows only the beginning; the tooltip has the reason and what to do about it.
  return (
    <p class={`note${actsUnasked ? " acts-unasked" : ""}`} title={line(words, 600)}>
      {confined || actsUnasked ? line(words, 240) : `${line(words.split(". ", 2).join(". "), 240)}.`}
    </p>
  );
}

/** The agent's working folder; the user can change it before the first turn. */
function Folder({ chosen, context, hasBegun }: { chosen: Chosen; context: AgentsContext; hasBegun: boolean }) {
  const [typed, type] = useState<string>();
  const here = plain(decodeURIComponent((chosen.session?.workingDirectories?.[0] ?? "").replace(/^file:\/\//, "")));
  const folder = line(chosen.folder, 200) || here || "the notebook's folder";
  if (typed === undefined)
    return (
      <p class="note">
        Works in <span title={folder}>{folder}</span>.{" "}
        {!hasBegun && <TextButton onClick={() => type(chosen.folder || here)}>Change folder</TextButton>}
      </p>
    );
  return (
    <Form
      class="row"
      label="Folder"
      onSubmit={() => {
        context.setFolder(typed.trim() === here ? "" : typed.trim());
        type(undefined);
      }}
    >
      <TextField label="Folder that the agent works in" value={typed} onText={type} />
      <Button type="submit">Set</Button>
    </Form>
  );
}

interface RowProps {
  agent: AgentInfo;
  /** True if any agent is being installed. */
  isBusy: boolean;
  /** The agents whose install began here: each then gets a conversation. */
  ours: Set<string>;
  context: AgentsContext;
}

function Row({ agent, isBusy, ours, context }: RowProps) {
  const { provider, setup, install, runner, missing } = agent;
  const name = nameOf(agent);
  const isHere = !isRemote(context.root.peek()); // another host installs and checks in its own notebook only
  const [asks, ask] = useState(false);
  const { message, isWaiting, during } = useSaying(context);
  const run = () => {
    ask(false);
    ours.add(provider);
    during(`Starting the install of ${name}…`, () =>
      context.request("installAgent", { agent: provider, command: install ?? "" }).then(
        () => "",
        (error: unknown) => {
          ours.delete(provider);
          throw error;
        },
      ),
    );
  };
  const check = () =>
    during(`Checking ${name}…`, async () => {
      if (missing) {
        const { installed } = await context.request("refreshAgents", {});
        if (!installed.includes(provider))
          return `${name} was not found. If its folder was just added to PATH, restart Jupyter to find it.`;
      }
      return inWords(await context.request("checkAgent", { agent: provider }));
    });
  return (
    <div class="column agent-card is-missing" role="group" aria-label={name}>
      <strong>{name}</strong>
      {missing && agent.description && <span class="dim small">{line(agent.description, 200)}</span>}
      <span class="row wraps agent-actions">
        {missing && runner && (
          <Button aria-label={`Start ${name}`} title={line(runner)} onClick={() => context.start(provider)}>
            Start
          </Button>
        )}
        {missing && install && agent.canInstall && isHere && !isRunning(setup) && (
          <Button aria-label={`Install ${name}`} disabled={isBusy || asks} onClick={() => ask(true)}>
            Install…
          </Button>
        )}
        {missing && install && (
          <CopyButton text={install} label={`Copy install command of ${name}`} words="Copy install command" />
        )}
        {isHere && (
          <TextButton aria-label={`${missing ? "Check again" : "Check"}: ${name}`} disabled={isWaiting} onClick={check}>
            {missing ? "Check again" : "Check"}
          </TextButton>
        )}
      </span>
      {asks && install && <Question name={name} command={install} onRun={run} onCancel={() => ask(false)} />}
      {setup && setup.state !== "done" && <Setup name={name} agent={provider} setup={setup} context={context} />}
      {message && (
        <span class="small">
          {isWaiting && <Spinner />} {plain(message)}
        </span>
      )}
    </div>
  );
}

/** Shows the exact command before it runs. */
function Question(props: { name: string; command: string; onRun: () => void; onCancel: () => void }) {
  const { name, command, onRun, onCancel } = props;
  const button = useFocused<HTMLButtonElement>();
  return (
    <div class="agent-question" role="group" aria-label={`Install ${name}?`}>
      <p>This runs where the kernel runs, with your permissions:</p>
      <pre class="output">{plain(command)}</pre>
      <span class="row wraps agent-actions">
        <Button class="primary" ref={button} onClick={onRun}>
          Run
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </span>
    </div>
  );
}

interface SetupProps {
  name: string;
  agent: string;
  setup: AgentSetup;
  context: AgentsContext;
}

const STATES = new Map([
  ["running", "Installing…"],
  ["checking", "Installed. Checking whether it answers…"],
  ["failed", "The install failed."],
  ["stopped", ""],
]);

/** An install: its terminal, its state, and *Stop* while it runs. */
function Setup({ name, agent, setup, context }: SetupProps) {
  const { message, isWaiting, during } = useSaying(context);
  const stop = () => during("Stopping…", () => context.request("stopInstall", { agent }).then(() => ""));
  return (
    <div class="column agent-setup">
      <Terminal terminal={setup.terminal} />
      <span class="small" role="status">
        {setup.state === "checking" && <Spinner />} {STATES.get(setup.state)} {plain(setup.message)}
      </span>
      {setup.state === "running" && (
        <Button aria-label={`Stop the install of ${name}`} disabled={isWaiting} onClick={stop}>
          Stop
        </Button>
      )}
      {message && <span class="small">{plain(message)}</span>}
    </div>
  );
}

/** A sentence about a kernel request: first what it waits for, then its result. */
function useSaying({ announce }: AgentsContext) {
  const [message, say] = useState("");
  const [isWaiting, wait] = useState(false);
  const during = async (waiting: string, work: () => Promise<string>) => {
    say(waiting);
    wait(true);
    const outcome = await work().catch(reason);
    wait(false);
    say(outcome);
    if (outcome) announce(outcome);
  };
  return { message, isWaiting, during };
}

/** Starts a conversation when an install that began here is done. Returns the agents whose install began here. */
function useStartAfter(agents: readonly AgentInfo[], { start, announce }: AgentsContext): Set<string> {
  const ours = useRef(new Set<string>()).current;
  const before = useRef(new Map<string, AgentSetup["state"]>()).current;
  useEffect(() => {
    for (const { provider, setup } of agents) {
      if (!setup || before.get(provider) === setup.state) continue;
      before.set(provider, setup.state);
      if (isRunning(setup) || !ours.delete(provider)) continue;
      announce(setup.message ?? "");
      if (setup.state === "done") start(provider);
    }
  }, [agents]);
  return ours;
}

function inWords({ message, version, startMs, models, todo }: Answer<"checkAgent">): string {
  const names = (models ?? []).map((one) => line(one, 40));
  const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
  return [
    line(message, 600),
    version && `Version ${line(version, 40)}.`,
    startMs !== undefined && `It starts in ${(startMs / 1000).toFixed(1)} s.`,
    names.length > 0 && `Models: ${names.slice(0, 3).join(", ")}${more}.`,
    todo && `Type: ${line(todo, 200)}`,
  ]
    .filter(Boolean)
    .join(" ");
}
