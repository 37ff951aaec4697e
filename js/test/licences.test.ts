// @vitest-environment node
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { options } from "../build.mjs";
import { bundledPackages, licences } from "../licences.mjs";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

describe("the licences of bundled packages", () => {
  let names: string[];

  beforeAll(async () => {
    const entryPoints = ["widget.ts", "highlighting.ts", "math.ts", "lab/compare.ts", "phone.ts"].map((name) =>
      here(`../src/${name}`),
    );
    const external = [
      "@codemirror/state",
      "@codemirror/view",
      "@codemirror/language",
      "@lezer/highlight",
      "@jupyterlab/*",
    ];
    const built = await build({ ...options, entryPoints, external, write: false, outdir: "unused" });
    names = bundledPackages(built.metafile);
  });

  it("include every dependency of the front end", async () => {
    const { dependencies } = JSON.parse(await readFile(here("../package.json"), "utf8"));
    expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  });

  it("contain the full text for each package", async () => {
    const text = await licences(names);
    for (const name of names) expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+.* \\(.+\\)$`, "m"));
    expect(text.match(/permission/gi)?.length).toBeGreaterThanOrEqual(names.length);
  });
});
