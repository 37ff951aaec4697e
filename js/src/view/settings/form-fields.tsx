/** The fields of the forms in the settings: a line, variables a line each, and what is wrong with what was typed. */
import { plain } from "../plain";

interface FieldProps {
  label: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
}

/** A line of text. */
export function LineField({ label, placeholder, value, onChange }: FieldProps) {
  return (
    <input
      class="field"
      aria-label={label}
      placeholder={placeholder}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** Variables for a program, a line each; `readVariables` reads them. */
export function VariablesField({ label, placeholder, value, rows, onChange }: FieldProps & { rows: number }) {
  return (
    <textarea
      class="field"
      rows={rows}
      aria-label={label}
      placeholder={placeholder}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** Why a form was not sent; nothing where there is no reason. */
export function FormTrouble({ text }: { text: string }) {
  return text ? (
    <p class="error-text" role="alert">
      {plain(text)}
    </p>
  ) : null;
}

export const NO_VARIABLES = "Variables are lines as NAME=value.";

/** Lines as `NAME=value`; undefined where one is none. */
export function readVariables(text: string): Record<string, string> | undefined {
  const lines = text.split("\n").filter((one) => one.trim());
  const pairs = lines.map((one) => [one.slice(0, one.indexOf("=")).trim(), one.slice(one.indexOf("=") + 1)] as const);
  const isRead = lines.every((one, at) => one.includes("=") && /^[A-Za-z_][A-Za-z0-9_]*$/.test(pairs[at]?.[0] ?? ""));
  return isRead ? Object.fromEntries(pairs) : undefined;
}
