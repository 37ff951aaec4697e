/** What the kernel says of settings, read with care: it may be another version's. */
import { isObject } from "../../state/guard";
import { line } from "../plain";

export interface Setting {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly kind: string;
  readonly value: unknown;
  readonly source: string;
  readonly where: string;
  readonly below: readonly { source: string; value: unknown }[];
  /** What the user's file says; undefined where it says nothing. */
  readonly inFile: unknown;
  readonly file: string;
  readonly isTrait: boolean;
  readonly counts: string;
  readonly choices: readonly (readonly [value: string, name: string])[];
}

/** How an agent is started. */
export interface AgentCommand {
  readonly name: string;
  readonly title: string;
  readonly line: string;
  /** The names of those that the user's description sets. */
  readonly variables: readonly string[];
  /** The user's description; empty where there is none. */
  readonly file: string;
  readonly state: string;
  readonly problem: string;
}

export interface OfferedModel {
  readonly agent: string;
  readonly id: string;
  readonly name: string;
}

export interface Listed {
  readonly groups: readonly { title: string; settings: readonly Setting[] }[];
  readonly problems: readonly string[];
  readonly rules: readonly { number: number; text: string }[];
  readonly projectRules: readonly string[];
  /** What was answered on cards and still holds in open conversations. */
  readonly grants: readonly { session: string; title: string; scope: string; text: string }[];
  readonly trusted: readonly string[];
  readonly folder: string;
  readonly policyFile: string;
  /** Undefined: an older kernel's answer. */
  readonly agents: readonly AgentCommand[] | undefined;
  readonly models: readonly OfferedModel[];
}

const texts = (raw: unknown) => (Array.isArray(raw) ? raw.filter((one) => typeof one === "string") : []);
const objects = (raw: unknown) => (Array.isArray(raw) ? raw.filter(isObject) : []);
const text = (raw: unknown) => (typeof raw === "string" ? raw : "");

export function readListed(raw: unknown): Listed {
  if (!isObject(raw)) throw new Error("The kernel's answer makes no sense.");
  return {
    groups: objects(raw.groups).map(({ title, settings }) => ({
      title: text(title),
      settings: objects(settings).map(readSetting),
    })),
    problems: texts(raw.problems),
    rules: objects(raw.rules).map(({ number, text: said }) => ({ number: Number(number), text: text(said) })),
    projectRules: texts(raw.projectRules),
    grants: objects(raw.grants).map((one) => ({
      session: text(one.session),
      title: text(one.title),
      scope: text(one.scope),
      text: text(one.text),
    })),
    trusted: texts(raw.trusted),
    folder: text(raw.folder),
    policyFile: text(raw.policyFile),
    agents: Array.isArray(raw.agents) ? objects(raw.agents).map(readAgent) : undefined,
    models: objects(raw.models).map((one) => ({ agent: text(one.agent), id: text(one.id), name: text(one.name) })),
  };
}

function readAgent(raw: Record<string, unknown>): AgentCommand {
  const { name, title, line: command, variables, file, state, problem } = raw;
  return {
    name: text(name),
    title: text(title) || text(name),
    line: text(command),
    variables: texts(variables),
    file: text(file),
    state: text(state),
    problem: text(problem),
  };
}

function readSetting(raw: Record<string, unknown>): Setting {
  const { value, inFile, isTrait, below, choices } = raw;
  return {
    name: text(raw.name),
    title: text(raw.title),
    about: text(raw.about),
    kind: text(raw.kind),
    value,
    source: text(raw.source),
    where: text(raw.where),
    below: objects(below).map((one) => ({ source: text(one.source), value: one.value })),
    inFile: inFile ?? undefined,
    file: text(raw.file),
    isTrait: isTrait === true,
    counts: text(raw.counts),
    choices: Array.isArray(choices)
      ? choices.filter(Array.isArray).map(([one, name]) => [text(one), text(name)] as const)
      : [],
  };
}

const SOURCES = new Map([
  ["%config", "%config in this kernel"],
  ["startup", "ipython_config.py"],
  ["environment", "environment variable"],
  ["project", "the project's file"],
  ["user", "your file"],
  ["default", "default"],
]);

export const sourceName = (source: string) => SOURCES.get(source) ?? line(source, 40);

/** A value as it is typed: a list with commas. */
export function typed(value: unknown): string {
  if (Array.isArray(value)) return value.map((one) => line(one, 4_000)).join(", ");
  return value === null || value === undefined || typeof value === "object" ? "" : String(value);
}

/** What was typed as the kind of value that the setting takes. */
export function readTyped(kind: string, said: string): unknown {
  if (kind === "number") return said.trim() === "" ? null : Number.isNaN(Number(said)) ? said : Number(said); // refused
  if (kind !== "names") return said;
  return said
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
}

/** A value for people. */
export function shown(setting: Setting, value: unknown): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  const choice = setting.choices.find(([one]) => one === value);
  return choice ? choice[1] : typed(value) || "empty";
}
