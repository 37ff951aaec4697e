/** More agents: those that are not installed, to be started without an install or installed; a check of any of them. */

import type { ReadonlySignal } from "@preact/signals";
import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer, Request } from "../../state/answers";
import type { AgentInfo, AgentSetup, RootState } from "../../state/types.gen";
import { Button, TextButton, useFocused } from "../controls";
import { CopyButton } from "../copy";
import { mountPanel, useRoot } from "../fetched-panel";
import { Spinner } from "../icons";
import { isRemote } from "../identity";
import { Terminal } from "../parts/terminal";
import { line, plain, reason } from "../plain";
import CSS from "./agents.css";

/** What the list needs of the chat. */
export interface AgentsContext {
  readonly root: ReadonlySignal<RootState | undefined>;
  readonly request: Request;
  /** Starts a conversation. */
  start(agent: string): void;
  /** Says a sentence to screen readers, politely. */
  announce(sentence: string): void;
}

/** Shows the list in `into`; the result takes it away again. */
export function mountAgents(into: HTMLElement, context: AgentsContext): () => void {
  return mountPanel(into, CSS, "", h(AgentList, { context }));
}

const nameOf = (agent: AgentInfo) => line(agent.displayName || agent.provider, 60);
const isRunning = (setup: AgentSetup | undefined) => setup?.state === "running" || setup?.state === "checking";

function AgentList({ context }: { context: AgentsContext }) {
  const root = useRoot(context.root);
  const agents = root?.agents ?? [];
  const isBusy = agents.some(({ setup }) => isRunning(setup));
  const ours = useStartAfter(agents, context);
  const rows = (listed: readonly AgentInfo[]) => (
    <div class="agent-list">
      {listed.map((agent) => (
        <Row key={agent.provider} agent={agent} isBusy={isBusy} ours={ours} context={context} />
      ))}
    </div>
  );
  const missing = agents.filter((agent) => agent.missing);
  const installed = agents.filter((agent) => !agent.missing);
  return (
    <>
      {missing.length > 0 && rows(missing)}
      {installed.length > 0 && (
        <>
          <h3 class="agents-head">Installed</h3>
          {rows(installed)}
        </>
      )}
    </>
  );
}

interface RowProps {
  agent: AgentInfo;
  /** Whether some agent is being installed. */
  isBusy: boolean;
  /** The agents whose install was begun here: a conversation starts with them then. */
  ours: Set<string>;
  context: AgentsContext;
}

function Row({ agent, isBusy, ours, context }: RowProps) {
  const { provider, setup, install, runner, missing } = agent;
  const name = nameOf(agent);
  const isHere = !isRemote(context.root.peek()); // another host installs and checks in its own notebook only
  const [asks, ask] = useState(false);
  const { said, isWaiting, during } = useSaying(context);
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
          return `${name} was not found. A program in a folder that is new on PATH is found once Jupyter restarts.`;
      }
      return inWords(await context.request("checkAgent", { agent: provider }));
    });
  return (
    <div class="column agent-card is-missing" role="group" aria-label={name}>
      <strong>{name}</strong>
      {missing && agent.description && <span class="dim small">{line(agent.description, 200)}</span>}
      <span class="row wraps agent-actions">
        {missing && runner && (
          <Button title={line(runner)} onClick={() => context.start(provider)}>
            Start
          </Button>
        )}
        {missing && install && agent.canInstall && isHere && !isRunning(setup) && (
          <Button disabled={isBusy || asks} onClick={() => ask(true)}>
            Install…
          </Button>
        )}
        {missing && install && (
          <CopyButton text={install} label={`Copy install command of ${name}`} words="Copy install command" />
        )}
        {isHere && (
          <TextButton disabled={isWaiting} onClick={check}>
            {missing ? "Check again" : "Check"}
          </TextButton>
        )}
      </span>
      {asks && install && <Question name={name} command={install} onRun={run} onCancel={() => ask(false)} />}
      {setup && setup.state !== "done" && <Setup name={name} agent={provider} setup={setup} context={context} />}
      {said && (
        <span class="small">
          {isWaiting && <Spinner />} {plain(said)}
        </span>
      )}
    </div>
  );
}

/** The exact command, before it is run. */
function Question(props: { name: string; command: string; onRun: () => void; onCancel: () => void }) {
  const { name, command, onRun, onCancel } = props;
  const button = useFocused<HTMLButtonElement>();
  return (
    <div class="agent-question" role="group" aria-label={`Install ${name}?`}>
      <p>This runs where the kernel runs, with your rights:</p>
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

/** An install: its terminal, how it is, and *Stop* while it runs. */
function Setup({ name, agent, setup, context }: SetupProps) {
  const { said, isWaiting, during } = useSaying(context);
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
      {said && <span class="small">{plain(said)}</span>}
    </div>
  );
}

/** A sentence about what was asked of the kernel: what is waited for, then what came of it. */
function useSaying({ announce }: AgentsContext) {
  const [said, say] = useState("");
  const [isWaiting, wait] = useState(false);
  const during = async (waiting: string, work: () => Promise<string>) => {
    say(waiting);
    wait(true);
    const outcome = await work().catch(reason);
    wait(false);
    say(outcome);
    if (outcome) announce(outcome);
  };
  return { said, isWaiting, during };
}

/** Starts a conversation when an install that was begun here is done. The result holds the agents that are ours. */
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

/** The kernel's answer to `checkAgent`, in words. */
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
