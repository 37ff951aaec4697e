/** A question of the agent to the reader (ACP elicitation): a form by its fields, or an address to visit. */
import type { InputHTMLAttributes } from "preact";
import { useId, useState } from "preact/hooks";
import type {
  ChatInputAnswer,
  ChatInputAnswerValue,
  ChatInputOption,
  ChatInputQuestion,
  ChatInputRequest,
} from "../state/types.gen";
import { useMemory, usePlace, useView } from "./context";
import { Icon } from "./icons";
import { safeHref } from "./links";
import { line, plain } from "./plain";

type Answers = Record<string, Given>;
/** What a field holds: text (numbers too, while they are typed), yes or no, or chosen ids. */
type Given = string | boolean | readonly string[];

export function InputRequests({ requests, agent }: { requests: readonly ChatInputRequest[]; agent: string }) {
  return (
    <>
      {requests.map((request) => (
        <InputForm key={request.id} request={request} agent={agent} />
      ))}
    </>
  );
}

function InputForm({ request, agent }: { request: ChatInputRequest; agent: string }) {
  const { store, memory } = useView();
  const { chat } = usePlace();
  const title = useId();
  const questions = request.questions ?? [];
  const key = `input ${request.id}`;
  const [given, setGiven] = useMemory<Answers>(key, initial(questions));
  // Two fields may change before the form is drawn again.
  const give = (id: string, value: Given) => setGiven({ ...((memory.get(key) as Answers) ?? given), [id]: value });
  const [tried, setTried] = useState(false);
  const troubles = Object.fromEntries(questions.map((one) => [one.id, trouble(one, given[one.id])]));
  const complete = (response: "accept" | "decline" | "cancel") =>
    store.dispatch(chat, {
      type: "chat/inputCompleted",
      requestId: request.id,
      response,
      ...(response === "accept" && { answers: answersOf(questions, given) }),
    });
  const submit = () => {
    setTried(true);
    if (Object.values(troubles).every((one) => one === "")) complete("accept");
  };
  return (
    <form
      class="input-request"
      aria-labelledby={title}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <div class="permission-head">
        <Icon name="question" />
        <strong id={title}>{agent} asks</strong>
      </div>
      {request.message && <div class="plain">{plain(request.message)}</div>}
      {request.url && <Address url={request.url} />}
      {questions.map((question) => (
        <Field
          key={question.id}
          question={question}
          given={given[question.id]}
          trouble={tried ? (troubles[question.id] ?? "") : ""}
          onGive={(value) => give(question.id, value)}
        />
      ))}
      <div class="permission-options">
        <button type="submit" class="button primary">
          {request.url && questions.length === 0 ? "I have done it" : "Send"}
        </button>
        <button type="button" class="button secondary" onClick={() => complete("decline")}>
          Decline
        </button>
        <button type="button" class="button secondary" onClick={() => complete("cancel")}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** The address in full, with who it belongs to: the agent chose it, so that nothing is opened by itself. */
function Address({ url }: { url: string }) {
  const href = safeHref(url);
  const host = href && hostOf(href);
  return (
    <div class="address">
      <code>{plain(url)}</code>
      {host ? (
        <p class="note">
          <Icon name="alert" /> The agent asks you to visit <strong>{host}</strong>. Go on only if you know it, and
          never type a password there that you do not mean for it.{" "}
          <a href={href} target="_blank" rel="noopener noreferrer nofollow">
            Open in a new tab
          </a>
        </p>
      ) : (
        <p class="note">This is not a web address that can be opened from here.</p>
      )}
    </div>
  );
}

function hostOf(href: string): string | undefined {
  try {
    const { protocol, host } = new URL(href);
    return protocol === "https:" || protocol === "http:" ? host : undefined;
  } catch {
    return undefined;
  }
}

interface FieldProps {
  question: ChatInputQuestion;
  given: Given | undefined;
  trouble: string;
  onGive: (value: Given) => void;
}

function Field({ question, given, trouble, onGive }: FieldProps) {
  const id = useId();
  const label = line(question.title ?? "", 200) || line(question.message, 200);
  const hint = question.title ? line(question.message, 500) : "";
  const says = {
    "aria-describedby": `${id}-hint ${id}-trouble`,
    "aria-invalid": trouble !== "",
    "aria-required": question.required === true,
  };
  const body = () => {
    switch (question.kind) {
      case "boolean":
        return (
          <label class="check">
            <input
              type="checkbox"
              checked={given === true}
              {...says}
              onChange={(event) => onGive(event.currentTarget.checked)}
            />
            {label}
          </label>
        );
      case "single-select":
      case "multi-select":
        return (
          <fieldset class="choices" aria-describedby={`${id}-hint ${id}-trouble`}>
            <legend>
              {label}
              {question.required && <Required />}
            </legend>
            {question.options.map((option) => (
              <Choice
                key={option.id}
                name={id}
                option={option}
                many={question.kind === "multi-select"}
                chosen={asList(given)}
                onGive={onGive}
              />
            ))}
          </fieldset>
        );
      default:
        return (
          <>
            <label for={id}>
              {label}
              {question.required && <Required />}
            </label>
            <input
              id={id}
              class="field"
              {...says}
              {...inputKind(question)}
              value={typeof given === "string" ? given : ""}
              onInput={(event) => onGive(event.currentTarget.value)}
            />
          </>
        );
    }
  };
  return (
    <div class="question">
      {body()}
      <div class="dim small" id={`${id}-hint`}>
        {hint}
      </div>
      <div class="error-text" id={`${id}-trouble`} role={trouble ? "alert" : undefined}>
        {trouble}
      </div>
    </div>
  );
}

function Required() {
  return <span class="dim"> (needed)</span>;
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

const FORMATS = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" } as const;

/** The type of the field, and which keys a telephone shows for it. */
function inputKind(question: ChatInputQuestion): InputHTMLAttributes<HTMLInputElement> {
  if (question.kind === "integer") return { type: "text", inputMode: "numeric" } as const;
  if (question.kind === "number") return { type: "text", inputMode: "decimal" } as const;
  const format = question.kind === "text" ? question.format : undefined;
  const type = FORMATS[format as keyof typeof FORMATS] ?? "text";
  return { type } as InputHTMLAttributes<HTMLInputElement>;
}

const asList = (given: Given | undefined): readonly string[] => (Array.isArray(given) ? given : []);

function initial(questions: readonly ChatInputQuestion[]): Answers {
  return Object.fromEntries(
    questions.map((question): [string, Given] => {
      if (question.kind === "boolean") return [question.id, question.defaultValue ?? false];
      if (question.kind === "single-select" || question.kind === "multi-select") return [question.id, []];
      return [question.id, question.defaultValue === undefined ? "" : String(question.defaultValue)];
    }),
  );
}

/** What is wrong with an answer, in words; "" where nothing is. */
export function trouble(question: ChatInputQuestion, given: Given | undefined): string {
  if (question.kind === "boolean") return "";
  if (question.kind === "single-select") return question.required && asList(given).length === 0 ? "Choose one." : "";
  if (question.kind === "multi-select") return listTrouble(question, asList(given).length);
  const text = typeof given === "string" ? given.trim() : "";
  if (text === "") return question.required ? "This is needed." : "";
  if (question.kind === "text") return lengthTrouble(text.length, question.min, question.max);
  const value = Number(text.replace(",", "."));
  if (!Number.isFinite(value)) return "This is not a number.";
  if (question.kind === "integer" && !Number.isInteger(value)) return "This must be a whole number.";
  return sizeTrouble(value, question.min, question.max);
}

function listTrouble(
  { required, min, max }: { required?: boolean; min?: number; max?: number },
  chosen: number,
): string {
  if (chosen < (min ?? (required ? 1 : 0))) return `Choose at least ${min ?? 1}.`;
  return max !== undefined && chosen > max ? `Choose at most ${max}.` : "";
}

function lengthTrouble(length: number, min: number | undefined, max: number | undefined): string {
  if (min !== undefined && length < min) return `At least ${min} characters.`;
  return max !== undefined && length > max ? `At most ${max} characters.` : "";
}

function sizeTrouble(value: number, min: number | undefined, max: number | undefined): string {
  if (min !== undefined && value < min) return `At least ${min}.`;
  return max !== undefined && value > max ? `At most ${max}.` : "";
}

function answersOf(questions: readonly ChatInputQuestion[], given: Answers): Record<string, ChatInputAnswer> {
  return Object.fromEntries(
    questions.map((question) => {
      const value = answerTo(question, given[question.id]);
      return [question.id, value === undefined ? { state: "skipped" } : { state: "submitted", value }];
    }),
  );
}

function answerTo(question: ChatInputQuestion, given: Given | undefined): ChatInputAnswerValue | undefined {
  switch (question.kind) {
    case "boolean":
      return { kind: "boolean", value: given === true };
    case "single-select": {
      const [value] = asList(given);
      return value === undefined ? undefined : { kind: "selected", value };
    }
    case "multi-select":
      return { kind: "selected-many", value: asList(given) };
    default: {
      const text = typeof given === "string" ? given.trim() : "";
      if (text === "") return undefined;
      return question.kind === "text"
        ? { kind: "text", value: text }
        : { kind: "number", value: Number(text.replace(",", ".")) };
    }
  }
}
