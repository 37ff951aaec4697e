/** Checks the imports between modules. Type imports count: readers follow them too. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const SOURCE = join(import.meta.dirname, "../src");
const IMPORT = /^(?:import|export)\b[^;]*?from\s+"(\.[^"]+)"|^import\s+"(\.[^"]+)"/gm;

const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
const modules = new Map(files.map((name) => [name.replace(/(?:\.d)?\.tsx?$/, ""), name]));

/** The modules that each module imports, by their names below `src`. */
const graph = new Map(
  [...modules].map(([name, file]) => {
    const imports = [...readFileSync(join(SOURCE, file), "utf8").matchAll(IMPORT)];
    const targets = imports.map(([, from, bare]) => join(dirname(name), (from ?? bare ?? "").replace(/\.tsx?$/, "")));
    return [name, targets.map((target) => relative("", target)).filter((target) => modules.has(target))] as const;
  }),
);

/** Returns a path from `name` back to itself; undefined if there is none. */
function circle(name: string, path: readonly string[], done: Set<string>): readonly string[] | undefined {
  if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
  if (done.has(name)) return undefined;
  for (const target of graph.get(name) ?? []) {
    const cycle = circle(target, [...path, name], done);
    if (cycle) return cycle;
  }
  done.add(name);
  return undefined;
}

const between = (from: string, to: string) =>
  [...graph].flatMap(([name, targets]) =>
    name.startsWith(from)
      ? targets.filter((target) => target.startsWith(to)).map((target) => `${name} → ${target}`)
      : [],
  );

test("no module is part of an import cycle", () => {
  const done = new Set<string>();
  expect([...graph.keys()].map((name) => circle(name, [], done)).filter(Boolean)).toEqual([]);
  expect(graph.size).toBeGreaterThan(100);
});

test.each([
  ["view/", "comm/"],
  ["view/", "lab/"],
  ["state/", "view/"],
  ["state/", "comm/"],
  ["comm/", "lab/"],
])("%s imports nothing from %s", (from, to) => {
  expect(between(from, to)).toEqual([]);
});

test("comm/ imports only store and identity from view/", () => {
  const known = ["view/store", "view/identity"];
  expect(between("comm/", "view/").filter((one) => !known.includes(one.split(" → ")[1] ?? ""))).toEqual([]);
});

test("string-keyed lookup tables use table() instead of object literals", () => {
  // Every object has `__proto__`: an agent's word must not find it (`table` in state/object.ts).
  const PLAIN = /^(?:export )?const \w+: (?:Readonly<)?Record<string, .*= \{/m;
  const offenders = files.filter(
    (name) => !name.endsWith(".gen.ts") && PLAIN.test(readFileSync(join(SOURCE, name), "utf8")),
  );
  expect(offenders).toEqual([]);
});
