/** The values of a form while the user fills it in, their errors, and the answers that are sent. */
import { own } from "../state/object";
import type { ChatInputAnswer, ChatInputAnswerValue, ChatInputQuestion } from "../state/types.gen";

/** A field's value: text (also a number while the user types it), yes or no, or chosen ids. */
export type Given = string | boolean | readonly string[];
export type Answers = Record<string, Given>;

/** In characters: a longer default slows down the page, and nobody reads what they would send. */
const LONGEST_DEFAULT = 10_000;

export const asList = (answer: Given | undefined): readonly string[] => (Array.isArray(answer) ? answer : []);

export function initial(questions: readonly ChatInputQuestion[]): Answers {
  return Object.fromEntries(
    questions.map((question): [string, Given] => {
      if (question.kind === "boolean") return [question.id, question.defaultValue ?? false];
      if (question.kind === "single-select" || question.kind === "multi-select") {
        const chosen = question.options.filter((option) => option.recommended).map((option) => option.id);
        return [question.id, question.kind === "single-select" ? chosen.slice(0, 1) : chosen];
      }
      const text = question.defaultValue === undefined ? "" : String(question.defaultValue);
      return [question.id, text.length > LONGEST_DEFAULT ? "" : text];
    }),
  );
}

/** Returns what is wrong with an answer; "" if nothing is. */
export function trouble(question: ChatInputQuestion, answer: Given | undefined): string {
  if (question.kind === "boolean") return "";
  if (question.kind === "single-select") return question.required && asList(answer).length === 0 ? "Choose one." : "";
  if (question.kind === "multi-select") return listTrouble(question, asList(answer).length);
  const text = typeof answer === "string" ? answer.trim() : "";
  if (text === "") return question.required ? "This field is required." : "";
  if (question.kind === "text") return sizeTrouble(text.length, question, " characters");
  const value = Number(text.replace(",", "."));
  if (!Number.isFinite(value)) return "Enter a number.";
  if (question.kind === "integer" && !Number.isInteger(value)) return "Enter a whole number.";
  return sizeTrouble(value, question);
}

function listTrouble(
  { required, min, max }: { required?: boolean; min?: number; max?: number },
  chosen: number,
): string {
  if (chosen < (min ?? (required ? 1 : 0))) return `Choose at least ${min ?? 1}.`;
  return max !== undefined && chosen > max ? `Choose at most ${max}.` : "";
}

function sizeTrouble(size: number, { min, max }: { min?: number; max?: number }, of = ""): string {
  if (min !== undefined && size < min) return `Enter at least ${min}${of}.`;
  return max !== undefined && size > max ? `Enter at most ${max}${of}.` : "";
}

export function answersOf(questions: readonly ChatInputQuestion[], answers: Answers): Record<string, ChatInputAnswer> {
  return Object.fromEntries(
    questions.map((question) => {
      const value = answerTo(question, own(answers, question.id));
      return [question.id, value === undefined ? { state: "skipped" } : { state: "submitted", value }];
    }),
  );
}

function answerTo(question: ChatInputQuestion, answer: Given | undefined): ChatInputAnswerValue | undefined {
  switch (question.kind) {
    case "boolean":
      return { kind: "boolean", value: answer === true };
    case "single-select": {
      const [value] = asList(answer);
      return value === undefined ? undefined : { kind: "selected", value };
    }
    case "multi-select":
      return { kind: "selected-many", value: asList(answer) };
    default: {
      const text = typeof answer === "string" ? answer.trim() : "";
      if (text === "") return undefined;
      return question.kind === "text"
        ? { kind: "text", value: text }
        : { kind: "number", value: Number(text.replace(",", ".")) };
    }
  }
}
