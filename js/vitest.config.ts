import { defineConfig, type Plugin } from "vitest/config";

/** jsdom draws nothing: without style sheets, it need not parse them for each view. */
const noStyles: Plugin = {
  name: "no-styles",
  enforce: "pre",
  resolveId: (source) => (source.endsWith(".css") ? "\0no-styles" : null),
  load: (id) => (id === "\0no-styles" ? 'export default "";' : null),
};

/** Tests of modules that load once per page and stay: those that colour code and draw formulas. */
const OF_A_FRESH_PAGE = ["test/view/highlighting.test.ts", "test/view/mathematics.test.ts"];

const shared = { environment: "jsdom", testTimeout: 60_000, maxWorkers: 2 };

export default defineConfig({
  plugins: [noStyles],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  test: {
    projects: [
      {
        extends: true,
        test: {
          ...shared,
          name: "together",
          include: ["test/**/*.test.{ts,tsx}"],
          exclude: OF_A_FRESH_PAGE,
          isolate: false, // one jsdom and one copy of each module per process, not per file: takes half the time
        },
      },
      { extends: true, test: { ...shared, name: "apart", include: OF_A_FRESH_PAGE, isolate: false } },
    ],
  },
});
