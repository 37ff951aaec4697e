/** The agent's own options (ACP config options and modes): model, mode, effort. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isObject } from "../../state/object";
import type { Action, SessionState } from "../../state/types.gen";
import { Button, TextField } from "../controls";
import { line } from "../plain";

interface Option {
  id: string;
  name: string;
  category: string;
  value: string | boolean;
  groups: readonly ChoiceGroup[];
}

type Loose = Record<string, unknown>;
const ORDER = ["model", "thought_level", "mode", "model_config"];
/** A longer list gets a search field. */
const MOST_IN_SELECT = 20;
const MOST_SHOWN = 100;

/** Returns the agent's options in the order model, effort, mode, others; skips malformed ones. */
function readOptions(raw: readonly Loose[] | undefined): Option[] {
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

function readGroups(raw: unknown): ChoiceGroup[] {
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

/** Returns the ids of the models of `agent` that the user hides; `models_hidden` names them as `id` or `agent/id`. */
function hiddenModels(look: unknown, agent: string): ReadonlySet<unknown> {
  const names = isObject(look) && Array.isArray(look.models_hidden) ? look.models_hidden : [];
  const own = `${agent}/`;
  return new Set(names.map((one) => (typeof one === "string" && one.startsWith(own) ? one.slice(own.length) : one)));
}

/** Returns `option` without the hidden choices; the current value stays. */
function without(option: Option, hidden: ReadonlySet<unknown>): Option {
  const isOffered = ({ value }: Choice) => value === option.value || !hidden.has(value);
  const groups = option.groups.map((group) => ({ ...group, choices: group.choices.filter(isOffered) }));
  return { ...option, groups: groups.filter(({ choices }) => choices.length > 0) };
}

interface Props {
  session: SessionState;
  look: unknown;
  disabled: boolean;
  act: (action: Action) => void;
}

export function Options({ session, look, disabled, act }: Props) {
  const hidden = hiddenModels(look, session.provider);
  const options = readOptions(session.configOptions).map((one) =>
    one.category === "model" ? without(one, hidden) : one,
  );
  const choose = (configId: string, value: string | boolean) =>
    act({ type: "x-agentnb/configOptionChosen", configId, value });
  const modes = (session.modes?.availableModes ?? []).map(({ id, name, description }) => ({
    value: id,
    name: line(name, 60),
    description: line(description ?? "", 200),
  }));
  const hasMode = options.some((option) => option.category === "mode");
  return (
    <>
      {options.map((option) => {
        const { id, name, value, groups } = option;
        if (typeof value === "boolean")
          return (
            <label class="selector" key={id}>
              <span class="selector-name">{name}</span>
              <input
                type="checkbox"
                checked={value}
                disabled={disabled}
                onChange={(event) => choose(id, event.currentTarget.checked)}
              />
            </label>
          );
        const props = { name, value, groups, disabled, onChoose: (chosen: string) => choose(id, chosen) };
        const length = groups.reduce((sum, { choices }) => sum + choices.length, 0);
        return length > MOST_IN_SELECT ? <LongList key={id} {...props} /> : <Select key={id} {...props} />;
      })}
      {!hasMode && modes.length > 0 && (
        <Select
          name="Mode"
          value={session.modes?.currentModeId ?? ""}
          groups={[{ name: "", choices: modes }]}
          disabled={disabled}
          onChoose={(modeId) => act({ type: "x-agentnb/modeChanged", modeId })}
        />
      )}
    </>
  );
}

/** A choice among many: a button with the current value, and a searchable list once the user clicks it. */
function LongList({ name, value, groups, disabled, onChoose }: SelectProps) {
  const [isOpen, open] = useState(false);
  const [words, type] = useState("");
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (isOpen) box.current?.querySelector("input")?.focus();
  }, [isOpen]);
  const choose = (value: string) => {
    onChoose(value);
    open(false);
    type("");
    box.current?.querySelector("button")?.focus();
  };
  const all = groups.flatMap(({ name: group, choices }) => choices.map((choice) => ({ ...choice, group })));
  const current = all.find((choice) => choice.value === value)?.name ?? line(value, 60);
  const wanted = words.toLowerCase().split(/\s+/);
  const fitting = all.filter(({ name, value, group }) => {
    const text = `${group} ${name} ${value}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  return (
    <div class="long-choice" ref={box}>
      <div class="selector">
        <span class="selector-name">{name}</span>
        <Button
          aria-expanded={isOpen}
          aria-label={`${name}: ${current}`}
          disabled={disabled}
          onClick={() => open(!isOpen)}
        >
          <span class="cut">{current}</span>
        </Button>
      </div>
      {isOpen && (
        <>
          <TextField
            type="search"
            label={`Search: ${name}`}
            placeholder={`Search ${all.length}…`}
            value={words}
            onText={type}
          />
          <div class="pop-list" role="group" aria-label={name}>
            {fitting.slice(0, MOST_SHOWN).map((choice) => (
              <button
                type="button"
                key={choice.value}
                class="pop-item"
                data-item
                aria-pressed={choice.value === value}
                title={choice.description}
                onClick={() => choose(choice.value)}
              >
                <span class="cut">{choice.name}</span>
                {choice.group && <span class="dim small cut">{choice.group}</span>}
              </button>
            ))}
            {fitting.length === 0 && <p class="note">No matches.</p>}
            {fitting.length > MOST_SHOWN && (
              <p class="note">{`${fitting.length - MOST_SHOWN} more: type to find them.`}</p>
            )}
          </div>
        </>
      )}
    </div>
  );
}

export interface Choice {
  value: string;
  name: string;
  description?: string | undefined;
}

interface ChoiceGroup {
  name: string;
  choices: readonly Choice[];
}

interface SelectProps {
  name: string;
  value: string;
  groups: readonly ChoiceGroup[];
  disabled: boolean;
  onChoose: (value: string) => void;
}

function Select({ name, value, groups, disabled, onChoose }: SelectProps) {
  const current = groups.flatMap(({ choices }) => choices).find((choice) => choice.value === value);
  const options = (choices: readonly Choice[]) =>
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
