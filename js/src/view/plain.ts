/**
 * Makes text trustworthy at a glance: titles, commands, paths, names of options.
 *
 * Marks that reorder or hide the text beside them (bidi overrides, zero-width characters, control characters) are
 * written out, so that a command cannot look like another one. `agentnb/hidden_characters.py` has the same list, and a
 * test compares them.
 */

import { kernelText } from "./kernel-text";

const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\u034f/gu;

export function plain(text: unknown): string {
  if (typeof text !== "string") return text === undefined || text === null ? "" : String(text);
  return text.replace(
    HIDDEN,
    (mark) => `⟨U+${(mark.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}

/** Returns `plain` text on one line, cut to `limit` characters. */
export function line(text: unknown, limit = 200): string {
  // A character is written out as at most nine, and white space is joined: text far behind the limit is not shown.
  const near = typeof text === "string" && text.length > 50 * limit + 1000 ? text.slice(0, 50 * limit + 1000) : text;
  const whole = plain(near).replace(/\s+/g, " ").trim();
  return whole.length > limit ? `${whole.slice(0, limit - 1)}…` : whole;
}

/** Twice the longest path that a system accepts: a longer one is not a path, and its layout would block the page. */
const LONGEST_PATH = 8_192;

/** Returns an output as printed: without the fences that the kernel puts around a traceback or a picture's source. */
export function withoutFences(output: string): string {
  return output.replace(/^(`{3,})\w*\n([\s\S]*?)\n\1$/gm, "$2");
}

/** Splits a path into its folder and its last name; cuts one that is too long for a path in the middle. */
export function splitPath(path: string): { folder: string; name: string } {
  const half = LONGEST_PATH / 2;
  const near = path.length > LONGEST_PATH ? `${path.slice(0, half)}…${path.slice(-half)}` : path;
  const clean = plain(near).replace(/^file:\/\//, "");
  const cut = Math.max(clean.lastIndexOf("/"), clean.lastIndexOf("\\")) + 1;
  return { folder: clean.slice(0, cut), name: clean.slice(cut) || clean };
}

/** Returns a path relative to the working folder; whole if it is, or may lead, outside. */
export function inFolder(path: string, folderUri: string | undefined): string {
  const clean = path.replace(/^file:\/\//, "");
  const folder = folderUri?.startsWith("file:///") ? `${decoded(folderUri.slice(7)).replace(/\/$/, "")}/` : undefined;
  const inside = folder !== undefined && clean.startsWith(folder) && !/(?:^|\/)\.\.(?:\/|$)/.test(clean);
  return inside ? clean.slice(folder.length) || path : path;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** JSON nested deeper is not indented: each level would make each line longer. */
const DEEPEST_INDENT = 50;

/** Returns a value as indented JSON; a string as it is. */
export function pretty(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    const compact = JSON.stringify(value) ?? "";
    return depthOf(compact) > DEEPEST_INDENT ? compact : (JSON.stringify(value, null, 2) ?? "");
  } catch {
    return String(value);
  }
}

function depthOf(json: string): number {
  let [depth, deepest] = [0, 0];
  for (const mark of json.match(/[[\]{}]/g) ?? []) {
    depth += mark === "[" || mark === "{" ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

export function count(value: number): string {
  return new Intl.NumberFormat("en").format(value);
}

/** Returns a large number in a few characters: `1.2K`. */
export function short(value: number): string {
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

export function bytes(size: number): string {
  const units = ["B", "KB", "MB", "GB"];
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log(Math.max(size, 1)) / Math.log(1024))));
  const amount = size / 1024 ** step;
  return `${amount >= 10 || step === 0 ? Math.round(amount) : amount.toFixed(1)} ${units[step]}`;
}

export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function reason(error: unknown): string {
  return kernelText(error instanceof Error ? error.message : String(error));
}

/** Returns the first sentence: reasons are sorted, the worst one first. */
export function worstOf(reason: string): string {
  return kernelText(line(reason, 600).match(/^.+?[.!?](?=\s+[A-Z“]|$)/)?.[0] ?? line(reason, 600));
}
