/** What the parts of the settings are made of: groups, lists to take things out of, and variables for a program. */
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

interface VariablesProps {
  label: string;
  placeholder: string;
  value: string;
  rows: number;
  onText: (value: string) => void;
}

/** Variables for a program, a line each; `readVariables` reads them. */
export function VariablesField({ label, onText, ...rest }: VariablesProps) {
  return <textarea class="field" aria-label={label} onInput={(event) => onText(event.currentTarget.value)} {...rest} />;
}

export const NO_VARIABLES = "Variables are lines as NAME=value.";

/** Lines as `NAME=value`; undefined where one is none. */
export function readVariables(text: string): Record<string, string> | undefined {
  const lines = text.split("\n").filter((one) => one.trim());
  const pairs = lines.map((one) => [one.slice(0, one.indexOf("=")).trim(), one.slice(one.indexOf("=") + 1)] as const);
  const isRead = lines.every((one, at) => one.includes("=") && /^[A-Za-z_][A-Za-z0-9_]*$/.test(pairs[at]?.[0] ?? ""));
  return isRead ? Object.fromEntries(pairs) : undefined;
}
