/** Who answered a permission, in words that a reader understands: never an id. */
import type { Answerer } from "../state/types.gen";
import { store as keep, stored } from "./storage";

const WINDOW = "agentnb window";
const MOST = 50;

const WORDS: Readonly<Record<string, string>> = {
  python: "by Python code",
  answer: "by an earlier answer",
  rule: "by a rule",
  mode: "as the session's permissions say",
  nobody: "nobody was there to ask",
  cancelled: "the turn ended first",
};

/** This browser window answers as `clientId` from now on; after a reload it is still the same window. */
export function thisWindowIs(clientId: string): void {
  const known = clients().filter((one) => one !== clientId);
  keep(WINDOW, [...known, clientId].slice(-MOST));
}

export function who(by: Answerer | undefined, clientId: string): string {
  if (by === undefined) return "";
  if (by.kind !== "client") return WORDS[by.kind] ?? "";
  return by.clientId === clientId || clients().includes(by.clientId ?? "") ? "in this window" : "in another window";
}

function clients(): string[] {
  const known = stored<unknown>(WINDOW);
  return Array.isArray(known) ? known.filter((one) => typeof one === "string") : [];
}
