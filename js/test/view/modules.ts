/** The parts of the front end that a page fetches, as the kernel gives them. */
const MODULES = new Map<string, () => Promise<{ default: unknown }>>([
  ["agents", () => import("../../src/agents.ts")],
  ["highlighting", () => import("../../src/highlighting.ts")],
  ["history", () => import("../../src/history.ts")],
  ["math", () => import("../../src/math.ts")],
  ["pairing", () => import("../../src/pairing.ts")],
  ["rewind", () => import("../../src/rewind.ts")],
  ["walkthrough", () => import("../../src/walkthrough.ts")],
  ["preview", () => import("../../src/preview.ts")],
  ["questions", () => part(import("../../src/questions.ts"))],
  ["review", () => part(import("../../src/review.ts"))],
  ["uses", () => part(import("../../src/uses.ts"))],
]);

/** As it is built: it is given what it shares, which here it has. */
async function part(imported: Promise<unknown>): Promise<{ default: unknown }> {
  const made = await imported;
  return { default: () => made };
}

export async function fetchModule(name: string): Promise<{ default: unknown }> {
  const load = MODULES.get(name);
  if (!load) throw new Error(`The front end has no module '${name}'.`);
  return load();
}
