import { defineConfig, type Plugin } from "vitest/config";

/** jsdom draws nothing: without style sheets it need not parse them for each view. */
const noStyles: Plugin = {
  name: "no-styles",
  enforce: "pre",
  resolveId: (source) => (source.endsWith(".css") ? "\0no-styles" : null),
  load: (id) => (id === "\0no-styles" ? 'export default "";' : null),
};

export default defineConfig({
  plugins: [noStyles],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  test: {
    include: ["test/**/*.test.{ts,tsx}"],
    environment: "jsdom",
    testTimeout: 60_000,
  },
});
