/** One of several in a drop-down list, beside what it is called. */
import { line } from "./plain";

export interface Choice {
  value: string;
  name: string;
  description?: string | undefined;
}

export interface ChoiceGroup {
  name: string;
  choices: readonly Choice[];
}

interface Props {
  name: string;
  value: string;
  groups: readonly ChoiceGroup[];
  disabled: boolean;
  onChoose: (value: string) => void;
}

export function Select({ name, value, groups, disabled, onChoose }: Props) {
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
