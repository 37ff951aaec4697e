/** The list of the agent pill shows whether the agent is confined, and how to confine it. */
import { expect, test } from "vitest";
import type { AgentProcess, SessionState } from "../../src/state/types.gen";
import { readyStore, SESSION } from "./memory-store";
import { fetchModule } from "./modules";
import { open } from "./page";

const HOW = "It can read and change what you can. Confine agents keeps it.";

async function notes(agentProcess: AgentProcess | undefined) {
  const store = Object.assign(readyStore(), { module: fetchModule });
  const session = store.session(SESSION);
  session.value = { ...(session.value as SessionState), agentProcess };
  const page = open(store, { kind: "chat" });
  page.find(".pill").click();
  await page.until(() => page.find(".pop-settings"));
  return page.all(".pop-settings .note").flatMap((one) => [one.textContent, (one as HTMLElement).title]);
}

test.each([
  [{ state: "running", unconfined: HOW } as const, "Not confined. It can read and change what you can."],
  [{ state: "running", confined: "can write only to /work" } as const, "Confined: it can write only to /work."],
])("shows the confinement of a running agent: %j", async (process, words) => {
  expect(await notes(process)).toContain(words);
  expect((await notes(process)).filter((one) => one?.includes("onfined"))).toHaveLength(2); // also in the tooltip
});

test.each([[undefined], [{ state: "running" }], [{ state: "stopped", unconfined: HOW }]])(
  "shows nothing if the agent is stopped or its confinement unknown: %j",
  async (process) => {
    expect((await notes(process as AgentProcess | undefined)).join()).not.toContain("onfined");
  },
);
