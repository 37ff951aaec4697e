/** The agent pill of the message box: agent and model; it opens the list of agents and the agent's options. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isObject } from "../state/object";
import type { Action, SessionState } from "../state/types.gen";
import type { AgentsContext, Chosen } from "./agents/panel";
import { usePlace, useView } from "./context";
import { onEscape, useClickOutside } from "./controls";
import { useHostEvent } from "./host-events";
import { Icon, Spinner } from "./icons";
import { OnDemand } from "./on-demand";
import { line, plain } from "./plain";

interface Props extends Chosen {
  /** The agent's display name. */
  name: string;
  onStart: (agent: string, folder?: string) => void;
  /** The user closed the list without choosing an agent. */
  onClosed: () => void;
}

export function AgentPill({ name, onStart, onClosed, ...chosen }: Props) {
  const { store, announce, root, toBox } = useView();
  const place = usePlace();
  const [isOpen, setOpen] = useState<"" | "agents" | "missing">("");
  const pill = useRef<HTMLButtonElement>(null);
  const holder = useRef<HTMLDivElement>(null);
  const pop = useRef<HTMLDivElement>(null);
  const latest = useSignal<Chosen>(chosen);
  latest.value = chosen;
  useHostEvent<"agents" | "missing">("agentnb-agents", ({ detail }) => setOpen(detail));
  const leave = () => {
    setOpen("");
    onClosed();
  };
  const close = () => {
    leave();
    pill.current?.focus();
  };
  useLayoutEffect(() => {
    if (isOpen) fitAbove(pop.current as HTMLElement);
  }, [isOpen]);
  useClickOutside(holder, isOpen !== "", leave);
  const context: AgentsContext = {
    root: store.root,
    chosen: latest,
    request: (method, params) => store.request(method, params),
    showsMissing: isOpen === "missing",
    start: (agent, stays) => {
      onStart(agent);
      if (stays) return;
      setOpen("");
      toBox();
    },
    act: (action: Action) => store.dispatch(place.session, action),
    setFolder: (folder) => onStart(latest.peek().agent, folder),
    announce,
  };
  const { session, isStarting, agent } = chosen;
  const model = modelOf(session);
  const unasked = session?.agentProcess?.actsUnasked;
  const label = agent ? `Agent: ${[name, model].filter(Boolean).join(", ")}` : "Choose an agent";
  useEffect(() => {
    if (!isOpen) return;
    const onLeave = (event: Event) => {
      const to = (event as FocusEvent).relatedTarget as Node | null;
      if (to && !holder.current?.contains(to)) leave();
    };
    root.addEventListener("focusout", onLeave);
    return () => root.removeEventListener("focusout", onLeave);
  }, [isOpen, root]);
  return (
    <div class="pill-holder" ref={holder}>
      <button
        type="button"
        class={`row pill${agent ? "" : " is-unset"}`}
        ref={pill}
        aria-label={label}
        title={[label, isStarting && plain(session?.agentProcess?.message)].filter(Boolean).join("\n")}
        aria-haspopup="dialog"
        aria-expanded={isOpen !== ""}
        onClick={() => (isOpen ? leave() : setOpen("agents"))}
      >
        {isStarting ? <Spinner /> : <Icon name="agent" />}
        <span class="cut">
          {agent ? name : "Choose an agent"}
          {model && <span class="dim"> · {model}</span>}
        </span>
      </button>
      {unasked && (
        <span class="acts-unasked" role="note" title={line(unasked, 400)}>
          Doesn't ask
        </span>
      )}
      {isOpen && (
        <div class="pill-pop" role="dialog" aria-label="Agent and options" ref={pop} onKeyDown={onEscape(close)}>
          <OnDemand key={isOpen} name="agents" what="the agents" context={context} />
        </div>
      )}
    </div>
  );
}

/** Makes the list as high as the room above the message box. */
function fitAbove(pop: HTMLElement): void {
  const top = pop.closest(".root")?.getBoundingClientRect().top ?? 0;
  pop.style.maxHeight = `min(70vh, ${Math.max(160, pop.getBoundingClientRect().bottom - Math.max(0, top) - 6)}px)`;
}

/** Returns the agent's name for its current model; "" if it reports none. */
export function modelOf(session: SessionState | undefined): string {
  for (const option of session?.configOptions ?? []) {
    if (!isObject(option) || option.category !== "model" || typeof option.currentValue !== "string") continue;
    return line(nameIn(option.options, option.currentValue) ?? option.currentValue, 40);
  }
  return "";
}

function nameIn(options: unknown, value: string): string | undefined {
  if (!Array.isArray(options)) return undefined;
  for (const one of options.filter(isObject)) {
    const name = one.value === value ? one.name : nameIn(one.options, value);
    if (typeof name === "string") return name;
  }
  return undefined;
}
