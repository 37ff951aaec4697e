/** A conversation before its first message: examples from the user's notebook; without an agent, ways to get one. */
import { useState } from "preact/hooks";
import type { AgentInfo, RootState } from "../state/types.gen";
import { usePlace, useView } from "./context";
import { Button } from "./controls";
import { Earlier } from "./earlier-conversations";
import { OfferedPrompts } from "./follow-ups";
import { showAgents } from "./host-events";
import { Icon } from "./icons";
import { isRemote } from "./identity";
import { line } from "./plain";
import { useAnswer } from "./use-work";

const LONGEST = 200;
const MOST = 3;

interface Props {
  /** The agent's name; "" if none is chosen. */
  agent: string;
  agents: readonly AgentInfo[];
  onAgent: (agent: string) => void;
}

export function EmptyChat({ agent, agents, onAgent }: Props) {
  const { store } = useView();
  const { prompts, ask } = useExamples();
  return (
    <div class="column empty" onPointerEnter={ask}>
      <Icon name="agent" className="large" />
      <h2>{agent ? `Ask ${agent}` : "Get an agent"}</h2>
      {!agent && <Ways agents={agents} onAgent={onAgent} />}
      {agent && prompts.length > 0 && <OfferedPrompts prompts={prompts} label="Examples" class="examples" />}
      {!isRemote(store.root.value) && <Earlier />}
      {siteMessage(store.root.value) && <p class="dim small">{siteMessage(store.root.value)}</p>}
    </div>
  );
}

/** Returns the administrator's message to users (`message` in the site's policy file). */
const siteMessage = (root?: RootState) => line(String(Object(root?.config?.values.site).message ?? ""), 1_000);

/** Up to three ways to an agent, each with one click. */
function Ways({ agents, onAgent }: Omit<Props, "agent">) {
  const { root } = useView();
  const has = (name: string) => agents.some(({ provider, hidden }) => provider === name && !hidden);
  return (
    <ul class="list ways">
      <li>
        <Button class="primary" onClick={() => showAgents(root, "missing")}>
          Install an agent
        </Button>
        <span class="dim small">Claude Code, Codex, Gemini, … with your account</span>
      </li>
      {has("local") && (
        <li>
          <Button onClick={() => onAgent("local")}>Local model</Button>
          <span class="dim small">On this machine: Ollama, LM Studio, llama.cpp</span>
        </li>
      )}
      {has("eliza") && (
        <li>
          <Button onClick={() => onAgent("eliza")}>Tour</Button>
          <span class="dim small">What agents do here: no model, no account</span>
        </li>
      )}
    </ul>
  );
}

/** Returns the kernel's examples; `ask` updates them, since cells may have run meanwhile. */
function useExamples() {
  const { store, visible } = useView();
  const { session } = usePlace();
  const [times, again] = useState(0);
  const { answer } = useAnswer(
    () => store.request("suggestPrompts", { channel: session }), // an older kernel: no examples
    [store, session, visible.value, times],
  );
  const prompts = (answer?.prompts ?? []).map((one) => line(one, LONGEST)).filter(Boolean);
  return { prompts: [...new Set(prompts)].slice(0, MOST), ask: () => again(times + 1) };
}
