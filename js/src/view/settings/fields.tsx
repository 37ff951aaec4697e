/** What the parts of the settings are made of: rows that open, lists to take things out of, check boxes. */
import type { ComponentChildren } from "preact";
import { TextButton } from "../controls";
import { line } from "../plain";

interface FoldProps {
  /** Of its title. */
  id?: string;
  title: string;
  /** What is in it, in some words. */
  summary: string;
  isChanged?: boolean;
  children: ComponentChildren;
}

/** A row that opens. */
export function Fold({ id, title, summary, isChanged, children }: FoldProps) {
  return (
    <details class="setting-fold">
      <summary class="row setting-line">
        <span id={id} class="setting-title">
          {title}
        </span>
        {isChanged && <span class="setting-dot" />}
        <span class="cut dim setting-summary">{line(summary, 200)}</span>
      </summary>
      {children}
    </details>
  );
}

/** A row of the settings that opens and is no setting; `below` is what came of a change in it. */
export function FoldRow({
  at,
  below,
  ...fold
}: Omit<FoldProps, "isChanged"> & { at: string; below: ComponentChildren }) {
  return (
    <div class="setting" role="group" aria-label={fold.title} data-at={at}>
      <Fold {...fold} />
      {below}
    </div>
  );
}

interface RemovableProps {
  text: string;
  note?: string;
  word?: string;
  /** What the button is called. */
  label: string;
  disabled?: boolean;
  onRemove: () => void;
}

/** A line of a list, with a button that takes it out. */
export function Removable({ text, note, word = "Remove", label, disabled, onRemove }: RemovableProps) {
  return (
    <li>
      <code>{text}</code> {note && <span class="dim small">{note} </span>}
      <TextButton aria-label={label} disabled={disabled} onClick={onRemove}>
        {word}
      </TextButton>
    </li>
  );
}

interface SwitchProps {
  "aria-label"?: string;
  isOn: boolean;
  isFixed: boolean;
  onSwitch: (isOn: boolean) => void;
}

/** A check box that shows what the kernel says: another value once it has answered. */
export function Switch({ isOn, isFixed, onSwitch, ...rest }: SwitchProps) {
  return (
    <input
      type="checkbox"
      checked={isOn}
      disabled={isFixed}
      onChange={({ currentTarget }) => {
        currentTarget.checked = isOn;
        onSwitch(!isOn);
      }}
      {...rest}
    />
  );
}

interface ChecksProps {
  /** What can be checked: `key` tells one from the others. */
  options: readonly { readonly key: string; readonly name: ComponentChildren; readonly isOn: boolean }[];
  isFixed: boolean;
  onSwitch: (key: string, isOn: boolean) => void;
}

/** A list of check boxes. */
export function Checks({ options, isFixed, onSwitch }: ChecksProps) {
  return (
    <ul class="list setting-agents setting-checks">
      {options.map(({ key, name, isOn }) => (
        <li key={key}>
          <label>
            <Switch isOn={isOn} isFixed={isFixed} onSwitch={(next) => onSwitch(key, next)} /> {name}
          </label>
        </li>
      ))}
    </ul>
  );
}
