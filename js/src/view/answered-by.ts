/** Says in plain words how a permission request was answered; never shows an id. */
import { table } from "../state/object";
import type { Answerer } from "../state/types.gen";
import { line } from "./plain";

const BY: Readonly<Record<string, string>> = table({
  python: "by Python code",
  answer: "by an earlier answer",
  rule: "by a rule",
  mode: "by the permissions setting",
  freedom: "by this conversation's freedom",
  preview: "at once: its preview was harmless",
  bypass: "by your policy file: this agent doesn't need to ask",
  headless: "by a setting: no one could be asked",
});

/** True if a person or their code chose the answer: then the option's own name tells what was chosen. */
export function isChosen(by: Answerer | undefined): boolean {
  return by === undefined || by.kind === "client" || by.kind === "python";
}

/** True if the request ended before an answer. */
export function isUnanswered(by: Answerer | undefined): boolean {
  return by?.kind === "cancelled" || by?.kind === "withdrawn";
}

/** Returns the decision, and who made it. */
export function verdict(isAllowed: boolean, by: Answerer | undefined): string {
  const answer = isAllowed ? "Allowed" : "Denied";
  if (by?.kind === "cancelled") return "Not answered: the turn ended first";
  if (by?.kind === "withdrawn") return "Not answered: the agent withdrew its request";
  if (by?.kind === "nobody") return `${answer} automatically: no one could be asked`;
  if (by?.kind === "review") return `${answer}: you review cell edits afterwards`;
  if (by?.kind === "reading") return `${answer}: reading in the workspace needs no permission`;
  if (by?.name) return `${answer} by ${line(by.name, 40)}`;
  if (by?.kind === "client") return `You ${answer.toLowerCase()} this`;
  const who = by && BY[by.kind];
  return who ? `${answer} ${who}` : answer;
}

/** Returns why a call was denied or stopped, without "denied: ", which already precedes it. */
export function whyNot(reason: string): string {
  return line(reason, 300).replace(/^denied: /, "");
}
