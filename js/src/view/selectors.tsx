/** Model, mode, effort: what the agent itself says it can be set to (ACP config options and modes). */
import { isObject } from "../state/guard";
import type { SessionState } from "../state/types.gen";
import { usePlace, useView } from "./context";
import { Freedom } from "./freedom";
import { line } from "./plain";

interface Choice {
  value: string;
  name: string;
  description?: string | undefined;
}

interface Option {
  id: string;
  name: string;
  category: string;
  value: string | boolean;
  groups: { name: string; choices: Choice[] }[];
}

type Loose = Record<string, unknown>;
const ORDER = ["model", "mode", "thought_level", "model_config"];

/** The agent's options in the order model, mode, effort, others; odd ones are passed over. */
export function readOptions(raw: readonly Loose[] | undefined): Option[] {
  const options = (raw ?? []).flatMap((one): Option[] => {
    const { id, name, type, currentValue, category } = one;
    if (typeof id !== "string") return [];
    const base = { id, name: line(name ?? id, 40), category: typeof category === "string" ? category : "" };
    if (type === "boolean" || typeof currentValue === "boolean") {
      return [{ ...base, value: currentValue === true, groups: [] }];
    }
    const groups = readGroups(one.options);
    return typeof currentValue === "string" && groups.length > 0 ? [{ ...base, value: currentValue, groups }] : [];
  });
  const rank = ({ category }: Option) => (ORDER.includes(category) ? ORDER.indexOf(category) : ORDER.length);
  return options.toSorted((a, b) => rank(a) - rank(b));
}

function readGroups(raw: unknown): Option["groups"] {
  if (!Array.isArray(raw)) return [];
  const single = raw.flatMap(readChoice);
  const grouped = raw.flatMap((one: Loose) => {
    const choices = Array.isArray(one?.options) ? one.options.flatMap(readChoice) : [];
    return choices.length > 0 ? [{ name: line(one.name ?? one.group ?? "", 40), choices }] : [];
  });
  return single.length > 0 ? [{ name: "", choices: single }, ...grouped] : grouped;
}

function readChoice(raw: Loose | null): Choice[] {
  if (typeof raw?.value !== "string") return [];
  return [{ value: raw.value, name: line(raw.name ?? raw.value, 60), description: line(raw.description ?? "", 200) }];
}

/** The models of `agent` that the user wants in no list, by id; else those named as `agent/id`. */
function hiddenModels(look: unknown, agent: string): ReadonlySet<unknown> {
  const names = isObject(look) && Array.isArray(look.models_hidden) ? look.models_hidden : [];
  const own = `${agent}/`;
  return new Set(names.map((one) => (typeof one === "string" && one.startsWith(own) ? one.slice(own.length) : one)));
}

/** `option` with less to choose from; what is chosen stays. */
function without(option: Option, hidden: ReadonlySet<unknown>): Option {
  const isOffered = ({ value }: Choice) => value === option.value || !hidden.has(value);
  const groups = option.groups.map((group) => ({ ...group, choices: group.choices.filter(isOffered) }));
  return { ...option, groups: groups.filter(({ choices }) => choices.length > 0) };
}

export function Selectors({ session, disabled }: { session: SessionState; disabled: boolean }) {
  const { store } = useView();
  const place = usePlace();
  const hidden = hiddenModels(store.root.value?.config?.values.look, session.provider);
  const options = readOptions(session.configOptions).map((one) =>
    one.category === "model" ? without(one, hidden) : one,
  );
  const choose = (configId: string, value: string | boolean) =>
    store.dispatch(place.session, { type: "x-agentnb/configOptionChosen", configId, value });
  const modes = (session.modes?.availableModes ?? []).map(({ id, name, description }) => ({
    value: id,
    name: line(name, 60),
    description: line(description ?? "", 200),
  }));
  const hasMode = options.some((option) => option.category === "mode");
  return (
    <div class="row wraps selectors">
      {options.map((option) =>
        typeof option.value === "boolean" ? (
          <label class="selector" key={option.id}>
            <input
              type="checkbox"
              checked={option.value}
              disabled={disabled}
              onChange={(event) => choose(option.id, event.currentTarget.checked)}
            />
            {option.name}
          </label>
        ) : (
          <Select
            key={option.id}
            name={option.name}
            value={option.value}
            groups={option.groups}
            disabled={disabled}
            onChoose={(value) => choose(option.id, value)}
          />
        ),
      )}
      <Freedom session={session} disabled={disabled} />
      {!hasMode && modes.length > 0 && (
        <Select
          name="Mode"
          value={session.modes?.currentModeId ?? ""}
          choices={modes}
          disabled={disabled}
          onChoose={(modeId) => store.dispatch(place.session, { type: "x-agentnb/modeChanged", modeId })}
        />
      )}
      {session.agentProcess?.actsUnasked && (
        <span class="acts-unasked" role="note" title={line(session.agentProcess.actsUnasked, 400)}>
          Doesn't ask
        </span>
      )}
    </div>
  );
}

interface SelectProps {
  name: string;
  value: string;
  choices?: Choice[];
  groups?: Option["groups"];
  disabled: boolean;
  onChoose: (value: string) => void;
}

function Select({ name, value, choices = [], groups = [], disabled, onChoose }: SelectProps) {
  const all = [...choices, ...groups.flatMap((group) => group.choices)];
  const current = all.find((choice) => choice.value === value);
  const options = (choices: Choice[]) =>
    choices.map((choice) => (
      <option key={choice.value} value={choice.value} title={choice.description}>
        {choice.name}
      </option>
    ));
  return (
    <label
      class="selector"
      title={[`${name}: ${current?.name ?? value}`, current?.description].filter(Boolean).join("\n")}
    >
      <span class="selector-name">{name}</span>
      <select
        aria-label={name}
        value={value}
        disabled={disabled}
        onChange={(event) => onChoose(event.currentTarget.value)}
        onKeyDown={(event) => event.stopPropagation()}
      >
        {!current && <option value={value}>{line(value, 40)}</option>}
        {options(choices)}
        {groups.map((group) =>
          group.name ? (
            <optgroup key={group.name} label={group.name}>
              {options(group.choices)}
            </optgroup>
          ) : (
            options(group.choices)
          ),
        )}
      </select>
    </label>
  );
}
