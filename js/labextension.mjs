/**
 * Builds the JupyterLab extension: one file that JupyterLab takes for a module-federation container.
 *
 * A container has `init(scope)` and `get(module)`; the scope holds the page's shared packages, by name and version. The
 * extension takes its imports from JupyterLab from there (docs/decisions/0018-prebuilt-extension.md). Code that is
 * rarely needed is in separate files, which `part(name)` loads (docs/decisions/0091-side-by-side.md).
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { minify } from "terser";
import { translation } from "./translate.mjs";

const NAME = "agentnb";
/** The package's name on PyPI; `agentnb` there is another project. */
const DISTRIBUTION = "jupyter-agentnb";
const REPOSITORY = "https://github.com/agentnb/agentnb";
const LIMIT = 43 * 1024;
/**
 * Files that are loaded on demand: without an open notebook, when one opens, when the user opens a difference (the
 * panel and its drawing), when an agent proposes to change a cell or changes several, when the user attaches cells or
 * outputs, when an agent needs a user who is looking elsewhere, when a file opens, when the kernel answers slowly, and
 * when JupyterLab's editor can show the settings of a chat.
 */
const PARTS = [
  "agent-text",
  "attach",
  "attention",
  "cell-review",
  "cell-steps",
  "compare",
  "inline",
  "mermaid",
  "new-notebook",
  "provenance",
  "reconnect",
  "rejoin",
  "review",
  "settings-editor",
  "translated",
  "verification",
  "workspace-files",
];
const PART_LIMIT = 40 * 1024;
/** It contains all of the extension again. */
const TRANSLATED_LIMIT = 64 * 1024;
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const SHARED = [
  "@jupyterlab/application",
  "@jupyterlab/apputils",
  "@jupyterlab/codemirror",
  "@jupyterlab/notebook",
  "@jupyterlab/translation",
  "@jupyterlab/ui-components",
  "@lumino/widgets",
];
/** Used only by parts: JupyterLab's editor and settings. */
const OF_PARTS = [
  "@codemirror/language",
  "@codemirror/state",
  "@codemirror/view",
  "@jupyterlab/settingregistry",
  "@lezer/highlight",
];
/** From other extensions, which may be missing. */
const OPTIONAL = ["@jupyter-widgets/jupyterlab-manager", "@jupyterlab/completer", "@jupyterlab/launcher"];

const container = (body, parts) => `(() => {
let scope;
const here = document.currentScript.src;
const loaded = {};
const made = {};
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
const parts = ${JSON.stringify(parts)};
(window._JUPYTERLAB ??= {})[${JSON.stringify(NAME)}] = {
  init(shared) { scope = shared; },
  async get() {
    await Promise.all(${JSON.stringify(SHARED)}.map(load));
    await Promise.all(${JSON.stringify(OPTIONAL)}.map((name) => load(name).catch(console.debug)));
    const module = { exports: {} };
    ((module, exports, require) => {${body}})(module, module.exports, require);
    return () => module.exports;
  },
  async part(name) {
    await Promise.all(${JSON.stringify(OF_PARTS)}.map(load));
    const part = await import(new URL(parts[name], here));
    return (made[name] ??= part.default(require));
  },
};
})();
`;

/** A module that receives its shared imports from its loader. */
export const part = (body) => `export default (require) => {
const module = { exports: {} };
((module, exports) => {${body}})(module, module.exports);
return module.exports;
};
`;

/** A second, slower pass, which saves another two percent. */
export async function minified(text, module = true) {
  const { code } = await minify(text, {
    module,
    ecma: 2022,
    compress: {
      passes: 3,
      unsafe: true,
      unsafe_arrows: true,
      pure_funcs: ({ expression }) => expression.property !== "getRegex", // of marked: drops its unused rules
    },
    format: { comments: false },
  });
  return code;
}

const hashOf = (code) => createHash("sha256").update(code).digest("hex").slice(0, 16);

/** Writes the extension's folder, for share/jupyter/labextensions/agentnb. */
export async function buildLabExtension(options, outdir) {
  const bundle = (entry, plugins = [translation, ...options.plugins]) =>
    build({
      ...options,
      plugins,
      inject: [],
      entryPoints: [here(entry)],
      format: "cjs",
      write: false,
      external: [...SHARED, ...OPTIONAL, ...OF_PARTS],
      supported: { "dynamic-import": false },
    });
  const made = [];
  for (const name of PARTS) {
    const { outputFiles, metafile } = await bundle(`src/lab/${name}.ts`);
    const text = part(outputFiles[0].text);
    const limit = name === "translated" ? TRANSLATED_LIMIT : PART_LIMIT;
    if (text.length > limit)
      throw new Error(`${name}.js has ${text.length} bytes, more than the ${limit} it may have.`);
    made.push({ name, text, metafile, file: `${name}.${hashOf(text)}.js` });
  }
  const { outputFiles, metafile } = await bundle("src/lab/index.ts", options.plugins);
  const files = Object.fromEntries(made.map(({ name, file }) => [name, file]));
  const code = await minified(container(outputFiles[0].text, files), false);
  if (code.length > LIMIT)
    throw new Error(`The extension is ${code.length} bytes, more than the ${LIMIT} it may have.`);
  const load = `static/remoteEntry.${hashOf(code)}.js`;
  const version = await versionOf(here("../agentnb/__init__.py"));
  const manifest = {
    name: NAME,
    version,
    description: "The chat with coding agents in JupyterLab's right area.",
    license: "Apache-2.0 AND MIT AND BSD-3-Clause",
    author: { name: "The agentnb authors", url: REPOSITORY },
    homepage: REPOSITORY,
    bugs: { url: `${REPOSITORY}/issues` },
    repository: { type: "git", url: `git+${REPOSITORY}.git` },
    keywords: ["jupyter", "jupyterlab", "jupyterlab-extension", "agent", "acp", "notebook"],
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
  for (const { file, text } of made) await writeFile(`${outdir}/static/${file}`, text);
  const [plugin, properties] = await Promise.all(["plugin.json", "settings.gen.json"].map(readJson));
  await writeFile(`${outdir}/schemas/${NAME}/plugin.json`, json({ ...plugin, properties }));
  await writeFile(`${outdir}/schemas/${NAME}/package.json.orig`, json(manifest));
  await writeFile(`${outdir}/install.json`, json(install));
  await writeFile(`${outdir}/package.json`, json(manifest)); // last: it marks the folder as complete
  const sizes = Object.fromEntries(made.map(({ name, text }) => [name, text.length]));
  return {
    sizes: { remoteEntry: code.length, ...sizes },
    metafiles: [metafile, ...made.map((each) => each.metafile)],
  };
}

const readJson = async (name) => JSON.parse(await readFile(here(`schema/${name}`), "utf8"));

const json = (value) => `${JSON.stringify(value, null, 2)}\n`;

async function versionOf(path) {
  const found = /^__version__ = "(.+)"$/m.exec(await readFile(path, "utf8"));
  if (!found) throw new Error(`${path} names no version.`);
  return found[1];
}
