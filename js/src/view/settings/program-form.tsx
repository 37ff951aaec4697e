/** The form of a program that the kernel starts: its name, command line and variables. */
import { useState } from "preact/hooks";
import { useMemory, useView } from "../context";
import { Button, Form, TextField, Trouble } from "../controls";
import { line } from "../plain";
import { Removable } from "./fields";

/** A program as the user typed it; a variable without a value stays unchanged. */
export interface Program {
  line: string;
  env: Record<string, string | null>;
}

const keyOf = (form: string): string => `settings ${form} `;

/** Returns a function that forgets the unsaved text of a form. */
export function useForget(): (form: string) => void {
  const { memory } = useView();
  return (form) => {
    for (const key of [...memory.keys()]) if (key.startsWith(keyOf(form))) memory.delete(key);
  };
}

/** State of a form that outlives the settings page, but never the browser tab: variables can hold keys. */
export function useTyped<T>(form: string, field: string, initial: T) {
  return useMemory(keyOf(form) + field, initial);
}

interface Field {
  label: string;
  placeholder: string;
}

interface Props {
  /** The name under which typed text is kept. */
  form: string;
  class?: string;
  label: string;
  /** Absent if the name is fixed. */
  name?: Field;
  command: Field;
  variables: Field & { rows: number };
  /** The saved program. */
  before?: { readonly name: string; readonly line: string; readonly variables: readonly string[] } | undefined;
  submit: string;
  /** Returns what is wrong with the name and the command line; "" if nothing is. */
  check: (name: string, command: string) => string;
  onSave: (name: string, program: Program) => void;
  onCancel?: () => void;
}

export function ProgramForm({ form, label, name, command, variables, before, submit, check, ...rest }: Props) {
  const [typedName, setName] = useTyped(form, "name", before?.name ?? "");
  const [typedLine, setLine] = useTyped(form, "command", before?.line ?? "");
  const [kept, keep] = useTyped(form, "variables kept", before?.variables ?? []);
  const [text, setText] = useTyped(form, "variables", "");
  const [trouble, setTrouble] = useState("");
  const save = () => {
    const env = readVariables(text);
    const wrong =
      check(typedName.trim(), typedLine.trim()) || (env ? "" : "Write each variable as NAME=value, one per line.");
    setTrouble(wrong);
    if (wrong) return;
    const unchanged = Object.fromEntries(kept.map((one) => [one, null]));
    rest.onSave(typedName.trim(), { line: typedLine.trim(), env: { ...unchanged, ...env } });
  };
  return (
    <Form class={`row wraps settings-form ${rest.class ?? ""}`} label={label} onSubmit={save}>
      {name && <TextField {...name} value={typedName} onText={setName} />}
      <TextField {...command} value={typedLine} onText={setLine} />
      {kept.length > 0 && (
        <ul class="settings-rules">
          {kept.map((one) => (
            <Removable
              key={one}
              text={line(one, 60)}
              note="set, not shown"
              label={`Remove the variable ${line(one, 60)}`}
              onRemove={() => keep(kept.filter((other) => other !== one))}
            />
          ))}
        </ul>
      )}
      <textarea
        class="field"
        aria-label={variables.label}
        placeholder={kept.length > 0 ? "NAME=value to add or replace, one per line" : variables.placeholder}
        rows={variables.rows}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <Button type="submit">{submit}</Button>
      {rest.onCancel && <Button onClick={rest.onCancel}>Cancel</Button>}
      <Trouble text={trouble} />
    </Form>
  );
}

/** Reads lines of the form `NAME=value`; undefined if one has another form. */
function readVariables(text: string): Record<string, string> | undefined {
  const lines = text.split("\n").filter((one) => one.trim());
  const pairs = lines.map((one) => /^\s*([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$/s.exec(one)?.slice(1) ?? []);
  return pairs.every(({ length }) => length) ? Object.fromEntries(pairs) : undefined;
}
