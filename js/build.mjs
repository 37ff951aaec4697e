// Builds the wheel's files: widget.js (the front end), panel.js (a few lines), the modules that are fetched on demand,
// and the JupyterLab extension.
import { readFile, writeFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { buildLabExtension, minified, part } from "./labextension.mjs";
import { bundledPackages, FILE, licences } from "./licences.mjs";
import { translation } from "./translate.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
/** In bytes, minified and gzipped. */
const LIMITS = {
  "widget.js": { minified: 290 * 1024, gzipped: 100 * 1024 },
  // The same with translatable messages, for a page that is not in English.
  "translated.js": { minified: 270 * 1024, gzipped: 97 * 1024 },
  "panel.js": { minified: 2 * 1024, gzipped: 1024 },
  // Fetched on demand; the history, agents, freedom and settings have their own copies of Preact.
  "highlighting.js": { minified: 96 * 1024, gzipped: 32 * 1024 },
  "math.js": { minified: 224 * 1024, gzipped: 64 * 1024 },
  "history.js": { minified: 64 * 1024, gzipped: 22 * 1024 },
  "attention.js": { minified: 8 * 1024, gzipped: 3 * 1024 },
  "cell-changes.js": { minified: 8 * 1024, gzipped: 3 * 1024 },
  "questions.js": { minified: 9 * 1024, gzipped: 3.8 * 1024 },
  "review.js": { minified: 12 * 1024, gzipped: 5.3 * 1024 },
  "data-checks.js": { minified: 5 * 1024, gzipped: 2.5 * 1024 },
  "uses.js": { minified: 6 * 1024, gzipped: 3 * 1024 },
  "branches.js": { minified: 16 * 1024, gzipped: 6 * 1024 },
  "batch.js": { minified: 6 * 1024, gzipped: 3 * 1024 },
  "phone.js": { minified: 24 * 1024, gzipped: 9 * 1024 },
  "pairing.js": { minified: 3 * 1024, gzipped: 2 * 1024 },
  "rewind.js": { minified: 5 * 1024, gzipped: 2.5 * 1024 },
  "walkthrough.js": { minified: 4 * 1024, gzipped: 2 * 1024 },
  "preview.js": { minified: 8 * 1024, gzipped: 3.3 * 1024 },
  "agents.js": { minified: 40 * 1024, gzipped: 16.5 * 1024 },
  "freedom.js": { minified: 32 * 1024, gzipped: 13 * 1024 },
  "settings.js": { minified: 50 * 1024, gzipped: 19 * 1024 },
};

/** The whole phone page, in bytes. */
const PAGE_LIMIT = 40 * 1024;

/** Imports style sheets as minified text: they go into shadow roots. */
export const cssText = {
  name: "css-text",
  setup(context) {
    context.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: true });
      return { contents: code, loader: "text" };
    });
  },
};

/**
 * Keeps only marked's lexer of GitHub's dialect. In the package's single file, the code after it (the `marked`
 * function, whose properties name every part) would keep the parser and the renderers in the bundle, and the tables
 * would keep the rules of the other dialects.
 */
const markedLexer = {
  name: "marked-lexer",
  setup(context) {
    context.onLoad({ filter: /marked\.esm\.js$/ }, async ({ path }) => {
      const code = await readFile(path, "utf8");
      const lexer = code.match(/([\w$]+) as Lexer\b/)?.[1];
      const end = code.search(/var [\w$]+=new [\w$]+;function [\w$]+\(\w+,\w+\)\{return [\w$]+\.parse\(/);
      const tables =
        /\{normal:[\w$]+,gfm:([\w$]+),pedantic:[\w$]+\},([\w$]+)=\{normal:[\w$]+,gfm:([\w$]+),breaks:[\w$]+,pedantic:[\w$]+\}/;
      if (!lexer || end < 0 || !tables.test(code))
        throw new Error("marked is built in another way: what is left out of it has to be found anew.");
      const rules = code
        .slice(0, end)
        .replace(tables, "{gfm:$1},$2={gfm:$3}")
        .replaceAll("this.options.pedantic", "!1")
        .replaceAll("this.options.breaks", "!1");
      return { contents: `${rules}export{${lexer} as Lexer};` };
    });
  },
};

/** Lets parts import the widget's modules from the widget, instead of bundling them (`src/view/shared.ts`). */
const sharedWithParts = {
  name: "shared-with-parts",
  async setup(context) {
    const list = await readFile(here("src/view/shared.ts"), "utf8");
    const shared = new Set([...list.matchAll(/^ {2}\["([^"]+)",/gm)].map(([, name]) => name));
    context.onResolve({ filter: /./ }, ({ path, kind, resolveDir }) => {
      if (kind === "entry-point") return undefined;
      const file = path.startsWith(".") ? relative(here("src"), resolve(resolveDir, path)) : path;
      return shared.has(file) ? { path: file, external: true } : undefined;
    });
  },
};

export const options = {
  bundle: true,
  metafile: true,
  format: "esm",
  minify: true,
  target: "es2022",
  legalComments: "none",
  charset: "utf8",
  // `h(name, props, ...children)`: a little shorter than the automatic form.
  tsconfigRaw: { compilerOptions: { jsx: "react", jsxFactory: "h", jsxFragmentFactory: "Fragment" } },
  inject: [here("jsx.mjs")],
  plugins: [cssText, markedLexer],
};

/** Writes the page that a phone opens: one file with its script and style. Returns esbuild's metafile. */
async function phonePage(outdir) {
  const { outputFiles, metafile } = await build({
    ...options,
    inject: [],
    format: "iife",
    entryPoints: [here("src/phone-page/page.ts")],
    write: false,
    logLevel: "warning",
  });
  const script = (await minified(outputFiles[0].text)).trim().replaceAll("</script", "<\\/script");
  const { code: style } = await transform(await readFile(here("src/phone-page/page.css"), "utf8"), {
    loader: "css",
    minify: true,
  });
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>agentnb</title><style>${style.trim()}</style></head><body><script>${script}</script></body></html>
`;
  const size = Buffer.byteLength(html);
  console.log(`phone-page.html: ${(size / 1024).toFixed(1)} KB (limit ${PAGE_LIMIT / 1024} KB)`);
  if (size > PAGE_LIMIT) throw new Error(`phone-page.html is ${size} bytes; the limit is ${PAGE_LIMIT}.`);
  await writeFile(`${outdir}/phone-page.html`, html);
  return metafile;
}

/** For fetched modules: they are translatable. What loads at once is in English (`src/view/language.ts`). */
const translatable = { ...options, plugins: [translation, ...options.plugins] };

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const outdir = here("../agentnb/static");
  const entryPoints = [
    here("src/widget.ts"),
    here("src/history.ts"),
    here("src/agents.ts"),
    here("src/freedom.ts"),
    here("src/settings.ts"),
  ];
  const widget = await build({ ...options, entryPoints: entryPoints.slice(0, 1), outdir, logLevel: "warning" });
  const panels = await build({ ...translatable, entryPoints: entryPoints.slice(1), outdir, logLevel: "warning" });
  const others = await build({
    ...translatable,
    inject: [],
    entryPoints: [
      here("src/panel.ts"),
      here("src/highlighting.ts"),
      here("src/math.ts"),
      here("src/batch.ts"),
      here("src/pairing.ts"),
      here("src/phone.ts"),
      here("src/walkthrough.ts"),
      here("src/rewind.ts"),
      here("src/preview.ts"),
      here("src/cell-changes.ts"),
      here("src/attention.ts"),
    ],
    outdir,
    logLevel: "warning",
  });
  const whole = await build({
    ...translatable,
    format: "cjs",
    external: ["@preact/signals-core"],
    entryPoints: [here("src/translated.ts")],
    outdir,
    write: false,
    logLevel: "warning",
  });
  const parts = await build({
    ...translatable,
    plugins: [...translatable.plugins, sharedWithParts],
    format: "cjs",
    entryPoints: [
      here("src/questions.ts"),
      here("src/review.ts"),
      here("src/uses.ts"),
      here("src/data-checks.ts"),
      here("src/branches.ts"),
    ],
    outdir,
    write: false,
    logLevel: "warning",
  });
  for (const { path, text } of [...whole.outputFiles, ...parts.outputFiles]) await writeFile(path, part(text));
  for (const [name, limit] of Object.entries(LIMITS)) {
    const code = Buffer.from(await minified(await readFile(`${outdir}/${name}`, "utf8")));
    await writeFile(`${outdir}/${name}`, code);
    for (const [how, size] of Object.entries({ minified: code.length, gzipped: gzipSync(code, { level: 9 }).length })) {
      console.log(`${name} ${how}: ${(size / 1024).toFixed(1)} KB (limit ${limit[how] / 1024} KB)`);
      if (size > limit[how]) throw new Error(`${name} is ${size} bytes ${how}; the limit is ${limit[how]}.`);
    }
  }
  const page = await phonePage(outdir);
  const { sizes, metafiles } = await buildLabExtension(options, here("../labextension"));
  const texts = await licences(
    bundledPackages(...[widget, panels, others, parts].map(({ metafile }) => metafile), page, ...metafiles),
  );
  for (const folder of [outdir, here("../labextension")]) await writeFile(`${folder}/${FILE}`, texts);
  for (const [name, size] of Object.entries(sizes)) console.log(`labextension ${name}: ${(size / 1024).toFixed(1)} KB`);
}
