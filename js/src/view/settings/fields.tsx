/** The components of the settings: rows that open, lists with remove buttons, check boxes. */
import type { ComponentChildren } from "preact";
import { TextButton } from "../controls";
import { line } from "../plain";

interface FoldProps {
  /** The id of the title. */
  id?: string;
  title: string;
  /** The content in a few words. */
  summary: string;
  isChanged?: boolean;
  children: ComponentChildren;
}

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

/** A row that opens and is not a setting itself; `below` shows the result of a change in it. */
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
  /** The button's label for screen readers. */
  label: string;
  disabled?: boolean;
  onRemove: () => void;
}

/** A line of a list, with a button that removes it. */
export function Removable({ text, note, label, disabled, onRemove }: RemovableProps) {
  return (
    <li>
      <code>{text}</code> {note && <span class="dim small">{note} </span>}
      <TextButton aria-label={label} disabled={disabled} onClick={onRemove}>
        Remove
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

/** A check box that shows the kernel's value: it changes once the kernel has answered. */
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
  /** The options; `key` is unique. */
  options: readonly { readonly key: string; readonly name: ComponentChildren; readonly isOn: boolean }[];
  isFixed: boolean;
  onSwitch: (key: string, isOn: boolean) => void;
}

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
