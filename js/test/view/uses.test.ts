/** What the agent is given besides the conversation: skills, components, MCP servers. */
import { describe, expect, test } from "vitest";
import type { SessionState } from "../../src/state/types.gen";
import { readyStore, SESSION } from "./memory-store";
import { open } from "./page";

const component = (place: number, name: string, more: object = {}) => ({
  type: "plugin",
  id: `component:${place}`,
  name,
  _meta: { agentnb: { place, ...more } },
});
const skills = (name: string, ...children: string[]) => ({
  type: "plugin",
  id: `package:${name.split(" ")[0]}`,
  name,
  children: children.map((one) => ({ type: "skill", id: one, name: one })),
});
const server = (name: string) => ({ type: "mcpServer", id: `mcp:${name}`, name });

function show(...customizations: unknown[]) {
  const store = readyStore();
  const session = store.session(SESSION);
  session.value = { ...(session.value as SessionState), customizations: customizations as never };
  return open(store, { kind: "chat" });
}

describe("what the agent is given", () => {
  test("is one line: components in their order, packages and how many skills they bring, servers", () => {
    const page = show(
      component(1, "rules"),
      component(2, "context"),
      server("kernel"),
      server("docs"),
      skills("polars 1.2", "frames", "lazy"),
      skills("statsmodels 0.14", "models"),
      skills("jupyter-agentnb 0.2", "agentnb"),
    );
    expect(page.find(".uses").textContent).toBe("Uses rules → context · polars 1.2, statsmodels 0.14: 3 skills · docs");
  });

  test("is a list with what each costs, once opened; the settings are a click away", async () => {
    const page = show(
      component(1, "rules", { about: "Gives AGENTS.md.", tokensOnce: 1200 }),
      skills("polars 1", "lazy"),
    );
    page.find<HTMLButtonElement>(".uses .fold-head").click();
    await page.until(() =>
      expect(page.all(".uses li").map((one) => one.textContent)).toEqual([
        "rules Gives AGENTS.md. · about 1,200 tokens once",
        "polars 1 lazy",
      ]),
    );
    expect(page.button("Settings")).toBeTruthy();
  });

  test.each([[[]], [[server("kernel"), skills("jupyter-agentnb 0.2", "agentnb")]], [[7, null, "x"]]])(
    "is no line where it is nothing but agentnb's own: %j",
    (given) => {
      expect(show(...given).all(".uses")).toEqual([]);
    },
  );
});
