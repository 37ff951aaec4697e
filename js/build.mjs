// Builds what the wheel carries: widget.js (the front end), panel.js (a few lines), what is fetched when it is needed, and the
// JupyterLab extension.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { minify } from "terser";
import { buildLabExtension } from "./labextension.mjs";
import { bundledPackages, FILE, licences } from "./licences.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
/** In bytes, minified and gzipped. */
const LIMITS = {
  "widget.js": { minified: 304 * 1024, gzipped: 105 * 1024 },
  "panel.js": { minified: 2 * 1024, gzipped: 1024 },
  // Fetched when they are needed; the history and the agents have their own copies of Preact.
  "highlighting.js": { minified: 96 * 1024, gzipped: 32 * 1024 },
  "math.js": { minified: 224 * 1024, gzipped: 64 * 1024 },
  "history.js": { minified: 64 * 1024, gzipped: 22 * 1024 },
  "attention.js": { minified: 8 * 1024, gzipped: 3 * 1024 },
  "cell-changes.js": { minified: 8 * 1024, gzipped: 3 * 1024 },
  "batch.js": { minified: 6 * 1024, gzipped: 3 * 1024 },
  "pairing.js": { minified: 3 * 1024, gzipped: 2 * 1024 },
  "rewind.js": { minified: 5 * 1024, gzipped: 2.5 * 1024 },
  "walkthrough.js": { minified: 4 * 1024, gzipped: 2 * 1024 },
  "preview.js": { minified: 8 * 1024, gzipped: 3 * 1024 },
  "agents.js": { minified: 40 * 1024, gzipped: 16 * 1024 },
  "freedom.js": { minified: 32 * 1024, gzipped: 13 * 1024 },
  "settings.js": { minified: 48 * 1024, gzipped: 18 * 1024 },
};

/** Style sheets are imported as minified text: they go into shadow roots. */
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
 * Of marked only the lexer is used. What stands behind it in the one file that the package has (the `marked` function, whose
 * properties name every part) would keep the parser and the renderers in the bundle.
 */
const markedLexer = {
  name: "marked-lexer",
  setup(context) {
    context.onLoad({ filter: /marked\.esm\.js$/ }, async ({ path }) => {
      const code = await readFile(path, "utf8");
      const lexer = code.match(/([\w$]+) as Lexer\b/)?.[1];
      const end = code.search(/var [\w$]+=new [\w$]+;function [\w$]+\(\w+,\w+\)\{return [\w$]+\.parse\(/);
      if (!lexer || end < 0)
        throw new Error("marked is built in another way: what is left out of it has to be found anew.");
      return { contents: `${code.slice(0, end)}export{${lexer} as Lexer};` };
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

/** A second, slower pass, which finds another fiftieth. */
async function minified(path) {
  const terser = {
    module: true,
    ecma: 2022,
    compress: { passes: 3, unsafe: true, unsafe_arrows: true },
    format: { comments: false },
  };
  const { code } = await minify(await readFile(path, "utf8"), terser);
  await writeFile(path, code);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const outdir = here("../agentnb/static");
  const entryPoints = [
    here("src/widget.ts"),
    here("src/history.ts"),
    here("src/agents.ts"),
    here("src/freedom.ts"),
    here("src/settings.ts"),
  ];
  const widget = await build({ ...options, entryPoints, outdir, logLevel: "warning" });
  const others = await build({
    ...options,
    inject: [],
    entryPoints: [
      here("src/panel.ts"),
      here("src/highlighting.ts"),
      here("src/math.ts"),
      here("src/batch.ts"),
      here("src/pairing.ts"),
      here("src/walkthrough.ts"),
      here("src/rewind.ts"),
      here("src/preview.ts"),
      here("src/cell-changes.ts"),
      here("src/attention.ts"),
    ],
    outdir,
    logLevel: "warning",
  });
  for (const [name, limit] of Object.entries(LIMITS)) {
    await minified(`${outdir}/${name}`);
    const code = await readFile(`${outdir}/${name}`);
    for (const [how, size] of Object.entries({ minified: code.length, gzipped: gzipSync(code, { level: 9 }).length })) {
      console.log(`${name} ${how}: ${(size / 1024).toFixed(1)} KB (limit ${limit[how] / 1024} KB)`);
      if (size > limit[how]) throw new Error(`${name} is ${size} bytes ${how}; the limit is ${limit[how]}.`);
    }
  }
  const { sizes, metafiles } = await buildLabExtension(options, here("../labextension"));
  const texts = await licences(bundledPackages(widget.metafile, others.metafile, ...metafiles));
  for (const folder of [outdir, here("../labextension")]) await writeFile(`${folder}/${FILE}`, texts);
  for (const [name, size] of Object.entries(sizes)) console.log(`labextension ${name}: ${(size / 1024).toFixed(1)} KB`);
}
