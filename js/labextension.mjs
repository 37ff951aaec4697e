/**
 * Builds the JupyterLab extension: one file that JupyterLab takes for a module-federation container.
 *
 * A container has `init(scope)` and `get(module)`; the scope holds what the page shares, by package and version. What
 * the extension imports from JupyterLab is taken from there (docs/decisions/0018-prebuilt-extension.md).
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const NAME = "agentnb";
/** The package on the index; `agentnb` there is another project. */
const DISTRIBUTION = "jupyter-agentnb";
const LIMIT = 40 * 1024;
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const SHARED = [
  "@jupyterlab/application",
  "@jupyterlab/apputils",
  "@jupyterlab/notebook",
  "@jupyterlab/ui-components",
  "@lumino/widgets",
];
/** Another extension's: it may be missing. */
const OPTIONAL = ["@jupyter-widgets/jupyterlab-manager"];

const container = (body) => `(() => {
let scope;
const loaded = {};
const load = async (name) => {
  const versions = Object.values(scope[name] ?? {});
  const shared = versions.find((one) => one.loaded) ?? versions.at(-1);
  if (!shared) throw new Error("agentnb: JupyterLab does not share " + name);
  loaded[name] = (await shared.get())();
};
const require = (name) => {
  if (loaded[name]) return loaded[name];
  throw new Error("agentnb: " + name + " is not in this page");
};
(window._JUPYTERLAB ??= {})[${JSON.stringify(NAME)}] = {
  init(shared) { scope = shared; },
  async get() {
    await Promise.all(${JSON.stringify(SHARED)}.map(load));
    await Promise.all(${JSON.stringify(OPTIONAL)}.map((name) => load(name).catch(console.debug)));
    const module = { exports: {} };
    ((module, exports, require) => {${body}})(module, module.exports, require);
    return () => module.exports;
  },
};
})();
`;

/** Writes the extension's folder, as it goes to share/jupyter/labextensions/agentnb. */
export async function buildLabExtension(options, outdir) {
  const { outputFiles, metafile } = await build({
    ...options,
    inject: [],
    entryPoints: [here("src/lab/index.ts")],
    format: "cjs",
    write: false,
    external: [...SHARED, ...OPTIONAL],
    supported: { "dynamic-import": false },
  });
  const code = container(outputFiles[0].text);
  if (code.length > LIMIT)
    throw new Error(`The extension is ${code.length} bytes, more than the ${LIMIT} it may have.`);
  const hash = createHash("sha256").update(code).digest("hex").slice(0, 16);
  const load = `static/remoteEntry.${hash}.js`;
  const version = await versionOf(here("../agentnb/__init__.py"));
  const manifest = {
    name: NAME,
    version,
    description: "The chat with coding agents in JupyterLab's right area.",
    license: "Apache-2.0",
    jupyterlab: { extension: true, schemaDir: "schema", _build: { load, extension: "./extension" } },
  };
  const install = {
    packageManager: "python",
    packageName: DISTRIBUTION,
    uninstallInstructions: `pip uninstall ${DISTRIBUTION}`,
  };
  await rm(outdir, { recursive: true, force: true });
  await mkdir(`${outdir}/static`, { recursive: true });
  await mkdir(`${outdir}/schemas/${NAME}`, { recursive: true });
  await writeFile(`${outdir}/${load}`, code);
  await writeFile(`${outdir}/schemas/${NAME}/plugin.json`, await readFile(here("schema/plugin.json")));
  await writeFile(`${outdir}/schemas/${NAME}/package.json.orig`, json(manifest));
  await writeFile(`${outdir}/install.json`, json(install));
  await writeFile(`${outdir}/package.json`, json(manifest)); // last: it is what says that all is there
  return { size: code.length, metafile };
}

const json = (value) => `${JSON.stringify(value, null, 2)}\n`;

async function versionOf(path) {
  const found = /^__version__ = "(.+)"$/m.exec(await readFile(path, "utf8"));
  if (!found) throw new Error(`${path} names no version.`);
  return found[1];
}
