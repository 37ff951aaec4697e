/** Collects the licences of the packages in our bundles: their terms require that we include the texts. */
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

export const FILE = "THIRD-PARTY-LICENSES.txt";
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const PACKAGE = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//;
const RULE = "-".repeat(80);

/**
 * Returns the names of the packages whose code is in a bundle.
 *
 * @param metafiles esbuild's description of each bundle (its option `metafile`).
 */
export function bundledPackages(...metafiles) {
  const inputs = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap((output) => Object.keys(output.inputs)),
  );
  return [...new Set(inputs.map((path) => PACKAGE.exec(path)?.[1]).filter((name) => name !== undefined))].sort();
}

/** Returns the file's text: name, version, licence and licence text of each package. */
export async function licences(names) {
  const texts = await Promise.all(names.map(one));
  const opening = "The JavaScript of agentnb contains code of these packages, under these licences:";
  return `${[opening, ...texts].join(`\n\n${RULE}\n`)}\n`;
}

async function one(name) {
  const folder = here(`node_modules/${name}/`);
  const { version, license } = JSON.parse(await readFile(`${folder}package.json`, "utf8"));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e(\.(md|txt))?$/i.test(entry));
  if (!file) throw new Error(`The package ${name} comes without a licence file: add its text to js/licences.mjs.`);
  return `${name} ${version} (${license})\n${RULE}\n\n${(await readFile(folder + file, "utf8")).trim()}`;
}
