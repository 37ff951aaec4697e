/** The settings for which agents and models are listed, and in which order: buttons instead of typed names. */
import type { AgentInfo } from "../../state/types.gen";
import { IconButton } from "../icons";
import { line } from "../plain";
import { Checks } from "./fields";
import type { OfferedModel } from "./list";

interface Props {
  agents: readonly AgentInfo[];
  /** The setting's value; for models, ids or `agent/id`. */
  names: readonly string[];
  isFixed: boolean;
  onChange: (names: readonly string[]) => void;
}

export const nameOf = (agents: readonly AgentInfo[], provider: string) =>
  line(agents.find((one) => one.provider === provider)?.displayName || provider, 60);

/** The agents in the order of the list; buttons move each by one place. */
export function AgentOrder({ agents, names, isFixed, onChange }: Props) {
  const others = agents.map(({ provider }) => provider).filter((provider) => !names.includes(provider));
  const order = [...names, ...others];
  const move = (from: number, to: number) => {
    const moved = [...order];
    const [one] = moved.splice(from, 1);
    moved.splice(to, 0, one as string);
    // The agents behind them keep their usual order: they need no names.
    onChange(moved.slice(0, Math.max(names.length, from + 1, to + 1)));
  };
  return (
    <ol class="list setting-agents">
      {order.map((provider, at) => {
        const name = nameOf(agents, provider);
        const mover = (direction: "up" | "down", to: number) => (
          <IconButton
            name={`Move ${name} ${direction}`}
            icon={direction}
            disabled={isFixed || to < 0 || to === order.length}
            onClick={() => move(at, to)}
          />
        );
        return (
          <li key={provider}>
            <span>{name}</span>
            {mover("up", at - 1)}
            {mover("down", at + 1)}
          </li>
        );
      })}
    </ol>
  );
}

/** The agents, each with a check box: checked if the agent is shown. */
export function ShownAgents({ agents, names, isFixed, onChange }: Props) {
  const all = [...new Set([...agents.map(({ provider }) => provider), ...names])];
  const options = all.map((key) => ({ key, name: nameOf(agents, key), isOn: !names.includes(key) }));
  const change = (key: string, isOn: boolean) => onChange(isOn ? names.filter((one) => one !== key) : [...names, key]);
  return <Checks options={options} isFixed={isFixed} onSwitch={change} />;
}

interface ModelsProps extends Props {
  models: readonly OfferedModel[];
}

/** The models that agents offer, each with a check box; other names in the setting are below them, unchecked. */
export function ShownModels({ models, agents, names, isFixed, onChange }: ModelsProps) {
  const keyOf = ({ agent, id }: OfferedModel) => `${agent}/${id}`;
  const isNamed = (model: OfferedModel, name: string) => name === model.id || name === keyOf(model);
  const others = names.filter((name) => !models.some((model) => isNamed(model, name)));
  const show = (model: OfferedModel) => {
    // A bare id hides this model of every agent: the other agents' models stay hidden.
    const left = names.filter((name) => !isNamed(model, name));
    const same = models.filter(({ agent, id }) => id === model.id && agent !== model.agent);
    return [...new Set([...left, ...(names.includes(model.id) ? same.map(keyOf) : [])])];
  };
  const change = (key: string, isOn: boolean) => {
    const model = models.find((one) => keyOf(one) === key);
    onChange(!isOn ? [...names, key] : model ? show(model) : names.filter((one) => one !== key));
  };
  const listed = models.map((model) => ({
    key: keyOf(model),
    name: (
      <>
        {line(model.name, 80)} <span class="dim small">{nameOf(agents, model.agent)}</span>
      </>
    ),
    isOn: !names.some((name) => isNamed(model, name)),
  }));
  const unknown = others.map((key) => ({ key, name: <code>{line(key, 80)}</code>, isOn: false }));
  return (
    <>
      <Checks options={[...listed, ...unknown]} isFixed={isFixed} onSwitch={change} />
      {models.length === 0 && <p class="dim small">An agent's models are listed while it has an open conversation.</p>}
    </>
  );
}
