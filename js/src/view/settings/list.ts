/** Settings as the kernel lists them, and how their values are shown and typed. */
import type { Answer } from "../../state/answers";
import type { SettingInfo } from "../../state/requests.gen";
import { line } from "../plain";

export type { AgentLaunch, OfferedModel, SettingInfo as Setting } from "../../state/requests.gen";
export type Listed = Answer<"listSettings">;

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
export function shown(setting: SettingInfo, value: unknown): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  const choice = setting.choices.find(([one]) => one === value);
  return choice ? choice[1] : typed(value) || "empty";
}
