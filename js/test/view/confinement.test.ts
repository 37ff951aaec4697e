/** A conversation before its first message says whether its agent is confined, and how to confine it. */
import { expect, test } from "vitest";
import type { AgentProcess, ChatState, SessionState } from "../../src/state/types.gen";
import { CHAT, readyStore, SESSION } from "./memory-store";
import { open } from "./page";

const HOW = "It can read and change what you can. <b>Confine agents</b> keeps it.";

function show(agentProcess: AgentProcess | undefined) {
  const store = readyStore();
  const session = store.session(SESSION);
  const chat = store.chat(CHAT);
  session.value = { ...(session.value as SessionState), agentProcess };
  chat.value = { ...(chat.value as ChatState), turns: [], activeTurn: undefined };
  return open(store, { kind: "chat" });
}

const abilities = (page: ReturnType<typeof show>) => page.all(".abilities li").map((one) => one.textContent?.trim());

test("an agent that is not confined has a line with what that means, and the settings are a click away", () => {
  const page = show({ state: "running", unconfined: HOW });
  expect(abilities(page).at(-1)).toBe(`Not confined. ${HOW} Settings`);
  const asked: unknown[] = [];
  page.root.host.addEventListener("agentnb-panel", (event) => asked.push((event as CustomEvent).detail));
  page.button("Settings").click();
  expect(asked).toEqual(["settings"]);
});

test("an agent that is confined has a line with what to", () => {
  const page = show({ state: "running", confined: "can write only to /work; no network" });
  expect(abilities(page).at(-1)).toBe("It can write only to /work; no network. Settings");
});

test.each([[undefined], [{ state: "starting" }], [{ state: "running" }], [{ state: "stopped", unconfined: HOW }]])(
  "there is no line where the agent does not run, or its kernel does not say: %j",
  (process) => {
    expect(abilities(show(process as AgentProcess | undefined))).toHaveLength(3);
  },
);
