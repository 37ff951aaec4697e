/** A form's question: text, number, yes or no, one choice, or several choices. */

import type { InputHTMLAttributes } from "preact";
import { useId } from "preact/hooks";
import { table } from "../state/object";
import type { ChatInputOption, ChatInputQuestion } from "../state/types.gen";
import { asList, type Given } from "./answers";
import { line } from "./plain";

interface FieldProps {
  question: ChatInputQuestion;
  answer: Given | undefined;
  trouble: string;
  onGive: (value: Given) => void;
}

export function Field({ question, answer, trouble, onGive }: FieldProps) {
  const id = useId();
  const label = line(question.title ?? "", 200) || line(question.message, 200);
  const message = line(question.message, 500);
  const hint = question.title && message !== line(question.title, 500) ? message : "";
  const says = {
    "aria-describedby": `${id}-hint ${id}-trouble`,
    "aria-invalid": trouble !== "",
    "aria-required": question.required === true,
  };
  const hintLine = (
    <div class="dim small" id={`${id}-hint`}>
      {hint}
    </div>
  );
  const isChoice = question.kind === "single-select" || question.kind === "multi-select";
  const named = (
    <>
      {label}
      {question.required && <span class="dim"> (required)</span>}
    </>
  );
  const body = () => {
    if (question.kind === "boolean")
      return (
        <label class="check">
          <input
            type="checkbox"
            checked={answer === true}
            {...says}
            onChange={(event) => onGive(event.currentTarget.checked)}
          />
          {label}
        </label>
      );
    if (question.kind === "single-select" || question.kind === "multi-select")
      return (
        <fieldset class="column choices" aria-describedby={says["aria-describedby"]}>
          <legend>{named}</legend>
          {hintLine}
          {question.options.map((option) => (
            <Choice
              key={option.id}
              name={id}
              option={option}
              many={question.kind === "multi-select"}
              chosen={asList(answer)}
              onGive={onGive}
            />
          ))}
        </fieldset>
      );
    return (
      <>
        <label for={id}>{named}</label>
        <input
          id={id}
          class="field"
          {...says}
          {...inputKind(question)}
          value={typeof answer === "string" ? answer : ""}
          onInput={(event) => onGive(event.currentTarget.value)}
        />
      </>
    );
  };
  return (
    <div class="column question">
      {body()}
      {!isChoice && hintLine}
      <div class="error-text" id={`${id}-trouble`} role={trouble ? "alert" : undefined}>
        {trouble}
      </div>
    </div>
  );
}

interface ChoiceProps {
  name: string;
  option: ChatInputOption;
  many: boolean;
  chosen: readonly string[];
  onGive: (value: Given) => void;
}

function Choice({ name, option, many, chosen, onGive }: ChoiceProps) {
  const on = chosen.includes(option.id);
  const toggled = on ? chosen.filter((id) => id !== option.id) : [...chosen, option.id];
  return (
    <label class="check">
      <input
        type={many ? "checkbox" : "radio"}
        name={name}
        checked={on}
        onChange={() => onGive(many ? toggled : [option.id])}
      />
      <span>
        {line(option.label, 200)}
        {option.recommended && <span class="chip">recommended</span>}
        {option.description && <span class="dim small"> {line(option.description, 300)}</span>}
      </span>
    </label>
  );
}

const FORMATS = table({ email: "email", uri: "url", date: "date", "date-time": "datetime-local" } as const);

/** Returns the input's type, and the keys that a phone shows for it. */
function inputKind(question: ChatInputQuestion): InputHTMLAttributes<HTMLInputElement> {
  if (question.kind === "integer") return { type: "text", inputMode: "numeric" } as const;
  if (question.kind === "number") return { type: "text", inputMode: "decimal" } as const;
  const format = question.kind === "text" ? question.format : undefined;
  const type = FORMATS[format as keyof typeof FORMATS] ?? "text";
  return { type } as InputHTMLAttributes<HTMLInputElement>;
}
