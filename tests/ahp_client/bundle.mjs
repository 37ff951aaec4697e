/**
 * Bundles the test's driver with the Agent Host Protocol's own TypeScript client.
 *
 * `node bundle.mjs FOLDER OUT [REDUCERS]`: FOLDER holds the client's sources. They import types and reducers that their
 * authors generate (`src/types`). Where those are not there, this project's reducers, which pass the same reducer cases,
 * stand in for them; the client, its transport and its mirror are the authors' own. REDUCERS is a module with the
 * reducers of another version of the protocol, which stand in for them always (`vscode_reducers.mjs` makes one).
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");
const { build } = createRequire(join(root, "js/package.json"))("esbuild");
const [folder, outfile, reducers] = process.argv.slice(2);

const orElse = (name, other) => (reducers ? `export { ${name} } from ${JSON.stringify(resolve(reducers))};` : other);
const ours = (name, exported, file) =>
  orElse(name, `export { ${exported} as ${name} } from ${JSON.stringify(join(root, "js/src/state", file))};`);
const STAND_INS = new Map([
  ["channels-root/reducer", ours("rootReducer", "reduceRoot", "root.ts")],
  ["channels-session/reducer", ours("sessionReducer", "reduceSession", "session.ts")],
  ["channels-chat/reducer", ours("chatReducer", "reduceChat", "chat.ts")],
  // Pages follow no terminal's channel, so there is no reducer of ours; only VS Code's are tested with terminals.
  ["channels-terminal/reducer", orElse("terminalReducer", "export const terminalReducer = (state) => state;")],
  ["channels-changeset/reducer", ours("changesetReducer", "reduceChangeset", "changeset.ts")],
  ["common/errors", "export const JsonRpcErrorCodes = { MethodNotFound: -32601, InternalError: -32603 };"],
]);

const types = {
  name: "types",
  setup(plugin) {
    plugin.onResolve({ filter: /^ahp\// }, ({ path }) => found(join(folder, "src", path.slice(4))));
    plugin.onResolve({ filter: /\/types\/.*\.js$/ }, ({ path }) => found(join(folder, "src", path.slice(path.indexOf("types/")))));
    plugin.onLoad({ filter: /.*/, namespace: "stand-in" }, ({ path }) => ({
      contents: STAND_INS.get(path),
      resolveDir: root,
      loader: "ts",
    }));
  },
};

function found(path) {
  const source = path.replace(/\.js$/, ".ts");
  const name = source.slice(source.indexOf("types/") + 6).replace(/\.ts$/, "");
  if (existsSync(source) && !(reducers && STAND_INS.has(name))) return { path: source };
  if (!STAND_INS.has(name)) throw new Error(`no ${source}`);
  return { path: name, namespace: "stand-in" };
}

await build({
  entryPoints: [join(here, "drive.ts")],
  outfile,
  bundle: true,
  platform: "node",
  format: "esm",
  logLevel: "error",
  plugins: [types],
});
