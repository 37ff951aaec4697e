/**
 * Takes the reducers of the Agent Host Protocol out of a built VS Code, as a module of their own.
 *
 * `node vscode_reducers.mjs FOLDER OUT`: FOLDER is VS Code's, as `npm pack code-server` has it. A build is one minified
 * file; a reducer is found by the actions that it knows, and with it goes every declaration that it needs.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const { parse } = createRequire(join(root, "js/package.json"))("acorn");
const [folder, outfile] = process.argv.slice(2);
const text = readFileSync(join(folder, "out/vs/code/browser/workbench/workbench.js"), "utf8");
const program = parse(text, { ecmaVersion: "latest", sourceType: "module" });

/** Two actions that only this reducer knows both of. */
const REDUCERS = {
  rootReducer: ["root/agentsChanged", "root/activeSessionsChanged"],
  sessionReducer: ["session/ready", "session/titleChanged"],
  chatReducer: ["chat/turnStarted", "chat/delta"],
  terminalReducer: ["terminal/data", "terminal/exited"],
  changesetReducer: ["changeset/fileSet", "changeset/contentChanged"],
};

/** What is declared at the top: name -> [start, end, node, what to write before it]. */
const declared = new Map();
for (const node of program.body) {
  if (node.type === "FunctionDeclaration" || node.type === "ClassDeclaration")
    declared.set(node.id.name, [node.start, node.end, node, ""]);
  if (node.type !== "VariableDeclaration") continue;
  for (const each of node.declarations)
    for (const name of bound(each.id)) declared.set(name, [each.start, each.end, each.init, "var "]);
}

function bound(pattern) {
  if (!pattern) return [];
  if (pattern.type === "Identifier") return [pattern.name];
  if (pattern.type === "ObjectPattern") return pattern.properties.flatMap((each) => bound(each.value ?? each.argument));
  if (pattern.type === "ArrayPattern") return pattern.elements.flatMap(bound);
  return bound(pattern.left ?? pattern.argument);
}

const isNode = (value) => typeof value === "object" && value !== null;
const children = (node) => (Array.isArray(node) ? node : Object.values(node)).filter(isNode);

/** The names in `node` that are bound within it. */
function locals(node, into = new Set()) {
  if (node.type === "VariableDeclarator") for (const name of bound(node.id)) into.add(name);
  if (/Function/.test(node.type ?? "")) for (const name of node.params.flatMap(bound)) into.add(name);
  for (const child of children(node)) locals(child, into);
  return into;
}

/** The names that `node` refers to. */
function references(node, into = new Set()) {
  if (Array.isArray(node)) for (const each of node) isNode(each) && references(each, into);
  else if (node.type === "Identifier") into.add(node.name);
  else
    for (const [field, value] of Object.entries(node)) {
      const isName = !node.computed && ((node.type === "MemberExpression" && field === "property") || (node.type === "Property" && field === "key"));
      if (isNode(value) && !isName) references(value, into);
    }
  return into;
}

const found = {};
for (const node of program.body) {
  if (node.type !== "FunctionDeclaration") continue;
  const body = text.slice(node.start, node.end);
  if (!/^function [\w$]+\([\w$]+,[\w$]+,[\w$]+\)\{switch\([\w$]+\.type\)/.test(body)) continue;
  for (const [name, actions] of Object.entries(REDUCERS))
    if (actions.every((action) => body.includes(`case"${action}"`))) found[name] = node.id.name;
}
const missing = Object.keys(REDUCERS).filter((name) => !found[name]);
if (missing.length) throw new Error(`no ${missing.join(", ")} in ${folder}`);

const needed = new Set();
for (const wanted = Object.values(found); wanted.length; ) {
  const name = wanted.pop();
  if (needed.has(name) || !declared.has(name)) continue;
  needed.add(name);
  const [, , node] = declared.get(name);
  if (!node) continue;
  const inside = locals(node);
  for (const each of references(node)) if (!inside.has(each)) wanted.push(each);
}
const pieces = [...needed].map((name) => declared.get(name)).sort(([one], [other]) => one - other);
const exported = Object.entries(found).map(([name, own]) => `${own} as ${name}`);
const code = pieces.map(([start, end, , before]) => `${before}${text.slice(start, end)};`);
writeFileSync(outfile, [...code, `export { ${exported.join(", ")} };`, ""].join("\n"));
