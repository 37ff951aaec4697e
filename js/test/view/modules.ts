/** The parts of the front end that a page fetches, as the kernel sends them. */
import * as branches from "../../src/branches";
import * as dataChecks from "../../src/data-checks";
import * as questions from "../../src/questions";
import * as review from "../../src/review";
import * as uses from "../../src/uses";

const MODULES = new Map<string, () => Promise<{ default: unknown }>>([
  ["agents", () => import("../../src/agents.ts")],
  ["highlighting", () => import("../../src/highlighting.ts")],
  ["history", () => import("../../src/history.ts")],
  ["math", () => import("../../src/math.ts")],
  ["pairing", () => import("../../src/pairing.ts")],
  ["phone", () => import("../../src/phone.ts")],
  ["rewind", () => import("../../src/rewind.ts")],
  ["walkthrough", () => import("../../src/walkthrough.ts")],
  ["preview", () => import("../../src/preview.ts")],
]);

/** The parts of the view: a build passes them the modules they share; here they import them. */
const PARTS = new Map<string, unknown>([
  ["branches", branches],
  ["data-checks", dataChecks],
  ["questions", questions],
  ["review", review],
  ["uses", uses],
]);

export async function fetchPart(name: string): Promise<{ default: unknown }> {
  const part = PARTS.get(name);
  if (!part) throw new Error("This page can't load it.");
  return { default: () => part };
}

export async function fetchModule(name: string): Promise<{ default: unknown }> {
  return MODULES.get(name)?.() ?? fetchPart(name);
}
