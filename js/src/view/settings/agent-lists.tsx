/** Which agents are listed, and in which order: by buttons, without typing their names. */
import type { AgentInfo } from "../../state/types.gen";
import { IconButton } from "../icons";
import { line } from "../plain";

interface Props {
  agents: readonly AgentInfo[];
  /** What the setting says. */
  names: readonly string[];
  isFixed: boolean;
  onChange: (names: readonly string[]) => void;
}

const nameOf = (agents: readonly AgentInfo[], provider: string) =>
  line(agents.find((one) => one.provider === provider)?.displayName || provider, 60);

/** The agents as they are listed, each to be moved by one place. */
export function AgentOrder({ agents, names, isFixed, onChange }: Props) {
  const others = agents.map(({ provider }) => provider).filter((provider) => !names.includes(provider));
  const order = [...names, ...others];
  const move = (from: number, to: number) => {
    const moved = [...order];
    const [one] = moved.splice(from, 1);
    moved.splice(to, 0, one as string);
    // Those behind stay in their usual order: they need not be named.
    onChange(moved.slice(0, Math.max(names.length, from + 1, to + 1)));
  };
  return (
    <ol class="setting-agents">
      {order.map((provider, at) => {
        const name = nameOf(agents, provider);
        return (
          <li key={provider}>
            <span>{name}</span>
            <IconButton
              name={`Move ${name} up`}
              icon="up"
              disabled={isFixed || at === 0}
              onClick={() => move(at, at - 1)}
            />
            <IconButton
              name={`Move ${name} down`}
              icon="down"
              disabled={isFixed || at === order.length - 1}
              onClick={() => move(at, at + 1)}
            />
          </li>
        );
      })}
    </ol>
  );
}

/** The agents, each with a switch: listed or hidden. */
export function HiddenAgents({ agents, names, isFixed, onChange }: Props) {
  const all = [...new Set([...agents.map(({ provider }) => provider), ...names])];
  return (
    <ul class="setting-agents">
      {all.map((provider) => (
        <li key={provider}>
          <label>
            <input
              type="checkbox"
              checked={names.includes(provider)}
              disabled={isFixed}
              onChange={(event) => {
                const isHidden = event.currentTarget.checked;
                event.currentTarget.checked = !isHidden; // as the kernel says, once it has answered
                onChange(isHidden ? [...names, provider] : names.filter((one) => one !== provider));
              }}
            />{" "}
            Hide {nameOf(agents, provider)}
          </label>
        </li>
      ))}
    </ul>
  );
}
