import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vitest/config";

/** Style sheets are text, as in the build. */
const cssText: Plugin = {
  name: "css-text",
  enforce: "pre",
  resolveId(source, importer) {
    if (!source.endsWith(".css") || !importer) return null;
    return `\0css-text:${new URL(source, `file://${importer}`).pathname}.text`;
  },
  load(id) {
    if (!id.startsWith("\0css-text:")) return null;
    const path = id.slice("\0css-text:".length, -".text".length);
    return `export default ${JSON.stringify(readFileSync(path, "utf8"))};`;
  },
};

export default defineConfig({
  plugins: [cssText],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  test: {
    include: ["test/**/*.test.{ts,tsx}"],
    environment: "jsdom",
    testTimeout: 20_000,
  },
});
