/** Which agents and models are listed, and in which order: by buttons, without typing their names. */
import type { ComponentChildren } from "preact";
import type { AgentInfo } from "../../state/types.gen";
import { TextButton } from "../controls";
import { IconButton } from "../icons";
import { line } from "../plain";
import { Switch } from "./fields";
import type { OfferedModel } from "./list";

interface Props {
  agents: readonly AgentInfo[];
  /** What the setting says; of models ids, or `agent/id`. */
  names: readonly string[];
  isFixed: boolean;
  onChange: (names: readonly string[]) => void;
}

const nameOf = (agents: readonly AgentInfo[], provider: string) =>
  line(agents.find((one) => one.provider === provider)?.displayName || provider, 60);

/** A long list, folded until it is asked for; what it comes to stands in its line. */
const folded = (summary: string, list: ComponentChildren) => (
  <details class="setting-fold">
    <summary>{summary}</summary>
    {list}
  </details>
);

/** Some names in words, of many the first three. */
function few(names: readonly string[]): string {
  const shown = names.length > 4 ? [...names.slice(0, 3), `and ${names.length - 3} more`] : names;
  return shown.join(", ");
}

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
  return folded(
    few(order.map((provider) => nameOf(agents, provider))),
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
    </ol>,
  );
}

/** The agents, each with a switch: listed or hidden. */
export function HiddenAgents({ agents, names, isFixed, onChange }: Props) {
  const all = [...new Set([...agents.map(({ provider }) => provider), ...names])];
  return folded(
    few(names.map((provider) => nameOf(agents, provider))) || "None is hidden",
    <ul class="list setting-agents setting-checks">
      {all.map((provider) => (
        <li key={provider}>
          <label>
            <Switch
              isOn={names.includes(provider)}
              isFixed={isFixed}
              onSwitch={(isHidden) =>
                onChange(isHidden ? [...names, provider] : names.filter((one) => one !== provider))
              }
            />{" "}
            Hide {nameOf(agents, provider)}
          </label>
        </li>
      ))}
    </ul>,
  );
}

interface ModelsProps extends Props {
  models: readonly OfferedModel[];
}

/** The models that agents offer, each shown or hidden; what else the setting names stands below them. */
export function HiddenModels({ models, agents, names, isFixed, onChange }: ModelsProps) {
  const isNamed = (model: OfferedModel, name: string) => name === model.id || name === `${model.agent}/${model.id}`;
  const others = names.filter((name) => !models.some((model) => isNamed(model, name)));
  const show = (model: OfferedModel) => {
    // A bare id hides the model of that name of each agent: the others' stay hidden.
    const left = names.filter((name) => !isNamed(model, name));
    const same = models.filter(({ agent, id }) => id === model.id && agent !== model.agent);
    const added = names.includes(model.id) ? same.map(({ agent, id }) => `${agent}/${id}`) : [];
    onChange([...new Set([...left, ...added])]);
  };
  const toggle = (isHidden: boolean, name: string, onClick: () => void) => (
    <TextButton aria-label={`${isHidden ? "Show" : "Hide"} ${name}`} disabled={isFixed} onClick={onClick}>
      {isHidden ? "Show" : "Hide"}
    </TextButton>
  );
  return (
    <ul class="list setting-agents">
      {models.map((model) => {
        const isHidden = names.some((name) => isNamed(model, name));
        const [name, agent] = [line(model.name, 80), nameOf(agents, model.agent)];
        const id = `${model.agent}/${model.id}`;
        return (
          <li key={id}>
            <span class={isHidden ? "dim" : undefined}>
              {name} <span class="dim small">{agent}</span>
            </span>
            {toggle(isHidden, `${name} of ${agent}`, () => (isHidden ? show(model) : onChange([...names, id])))}
          </li>
        );
      })}
      {others.map((name) => (
        <li key={name}>
          <span class="dim">
            <code>{line(name, 80)}</code>
          </span>
          {toggle(true, line(name, 80), () => onChange(names.filter((one) => one !== name)))}
        </li>
      ))}
      {models.length === 0 && (
        <li class="dim small">The models of an agent are listed here while a conversation with it is open.</li>
      )}
    </ul>
  );
}
