/** What the parts of the settings are made of: groups, lists to take things out of, switches. */
import type { ComponentChildren } from "preact";
import { TextButton } from "../controls";

/** A part of the settings with its title; `label` is heard where the title alone says too little. */
export function Group({
  title,
  label = title,
  children,
}: {
  title: string;
  label?: string;
  children: ComponentChildren;
}) {
  return (
    <div class="setting" role="group" aria-label={label}>
      <span class="setting-title">{title}</span>
      {children}
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
