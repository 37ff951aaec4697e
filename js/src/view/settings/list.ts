/** Settings as the kernel lists them; converts their values for display and from typed text. */
import type { Answer } from "../../state/answers";
import type { SettingInfo } from "../../state/requests.gen";
import { kernelText } from "../kernel-text";
import { line } from "../plain";

export type { AgentLaunch, OfferedModel, SettingInfo as Setting } from "../../state/requests.gen";
export type Listed = Answer<"listSettings">;

const SOURCES = new Map([
  ["site", "your administrator"],
  ["%config", "%config in this kernel"],
  ["startup", "ipython_config.py"],
  ["environment", "the environment variable"],
  ["project", "the project's file"],
  ["user", "your file"],
]);

const defaultOf = ({ source, value, below }: SettingInfo) => (source === "default" ? value : below.at(-1)?.value);

const isDefault = (setting: SettingInfo, value: unknown) =>
  JSON.stringify(value) === JSON.stringify(defaultOf(setting));

/** True if the effective value is not the default. */
export const isChanged = (setting: SettingInfo) => !isDefault(setting, setting.value);

/** True if the user's file has a value other than the default. */
export const hasOwn = (setting: SettingInfo) => setting.inFile !== undefined && !isDefault(setting, setting.inFile);

/** Returns where the value comes from, what the user's file says if it is overridden, and when a change applies. */
export function sourceOf(setting: SettingInfo): string {
  const { source, where, below, counts } = setting;
  const own = source === "user" ? undefined : below.find((layer) => layer.source === "user");
  const from = source === "default" ? "Default" : `From ${SOURCES.get(source) ?? line(source, 40)}`;
  return [
    where ? `${from}, ${line(where, 400)}` : from,
    ...(own ? [`your file says ${valueText(setting, own.value)}`] : []),
    `applies ${kernelText(line(counts, 40))}`,
  ].join(" · ");
}

/** Returns the label of *Reset*. */
export const resetTo = (setting: SettingInfo) => `Reset to ${valueText(setting, defaultOf(setting)) || "the default"}`;

/** Returns a value as the user types it: a list with commas. */
export function typed(value: unknown): string {
  if (Array.isArray(value)) return value.map((one) => line(one, 4_000)).join(", ");
  return value === null || value === undefined || typeof value === "object" ? "" : String(value);
}

/** Returns a setting's value as its box shows it: empty for 0 if `empty` describes that. */
export const inBox = ({ kind, value, empty }: SettingInfo) =>
  kind === "number" && empty && value === 0 ? "" : typed(value);

/** Returns typed text as the kind of value that the setting takes; the kernel refuses anything else. */
export function readTyped({ kind, empty }: Pick<SettingInfo, "kind" | "empty">, text: string): unknown {
  if (kind === "number")
    return text.trim() === "" ? (empty ? 0 : null) : Number.isNaN(Number(text)) ? text : Number(text);
  if (kind !== "names") return text;
  return text
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
}

export function valueText({ choices, empty, kind }: SettingInfo, value: unknown): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  if (kind === "number" && value === 0 && empty) return kernelText(empty);
  const choice = choices.find(([one]) => one === value);
  return choice ? kernelText(choice[1]) : typed(value);
}
