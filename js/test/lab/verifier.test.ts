/** The verification of a notebook in the page: started, followed, stopped, outdated and repaired. */
import { expect, test } from "vitest";
import type { Ask } from "../../src/lab/notebook-part";
import { LONGEST_TEXT, NONE, type Verification, Verifier } from "../../src/lab/verifier";

const FINDING = {
  cause: "Cell [7] would fail: `z` is defined only in a deleted cell.",
  cell: { id: "c6", label: "[7]" },
};
const ENDED = 9;
const running = (done: number, revision: number): Partial<Verification> => ({
  status: "running",
  done,
  all: 2,
  revision,
});
const ended = (of: Partial<Verification>): Partial<Verification> => ({
  status: "ended",
  time: 5,
  revision: ENDED,
  ...of,
});

/** A notebook, its kernel's answers in their order, and records of requests and messages. */
function world(...answers: (Partial<Verification> | Error)[]) {
  const requests: [string, Record<string, unknown>][] = [];
  const sent: string[] = [];
  const notebook = { code: "x = 1", text: "{}" };
  const states: string[] = [];
  const ask: Ask = async (method, params) => {
    requests.push([method, params as Record<string, unknown>]);
    if (method === "verify/stop") return NONE;
    const isAwaited = (params as { revision?: number }).revision === ENDED;
    if (isAwaited) return new Promise(() => undefined); // no other page verifies anything
    const answer = answers.shift();
    if (answer === undefined) return new Promise(() => undefined);
    if (answer instanceof Error) throw answer;
    return { ...NONE, ...answer };
  };
  const verifier: Verifier = new Verifier(
    {
      path: () => "nb.ipynb",
      text: () => notebook.text,
      mark: () => notebook.code,
      connect: async () => ask,
      send: (text) => void sent.push(text),
    },
    () => states.push(`${verifier.state.status} ${verifier.state.done}`),
  );
  return { verifier, notebook, requests, sent, states, ask };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

test("follows a verification to its end with the page's text", async () => {
  const { verifier, requests, states } = world(running(0, 1), running(1, 2), ended({ ok: true }));
  await verifier.begin();
  expect(states).toEqual(["running 0", "running 0", "running 1", "ended 0"]);
  expect(requests.map(([method, params]) => [method, params.revision ?? params.text])).toEqual([
    ["verify/begin", "{}"],
    ["verify/state", 1],
    ["verify/state", 2],
    ["verify/state", ENDED],
  ]);
  expect(verifier.state.ok).toBe(true);
});

test("lets the kernel read a notebook that is too long for a message", async () => {
  const { verifier, requests, notebook } = world(ended({ ok: true }));
  notebook.text = "x".repeat(LONGEST_TEXT + 1);
  await verifier.begin();
  expect(requests[0]?.[1].text).toBe("");
});

test("a result is stale while the code differs from the verified code", async () => {
  const { verifier, notebook } = world(ended({ ok: true }));
  const done = verifier.begin();
  notebook.code = "x = 2";
  await done;
  expect(verifier.isStale).toBe(true);
  notebook.code = "x = 1";
  expect(verifier.isStale).toBe(false);
});

test("stopping restores the previous result, marked stale", async () => {
  const { verifier, requests, notebook, ask } = world(ended({ ok: true }), running(1, 2));
  verifier.connected(ask);
  await settled();
  notebook.code = "x = 2";
  void verifier.begin();
  await settled();
  expect(verifier.state.status).toBe("running");
  verifier.stop();
  expect([verifier.state.ok, verifier.isStale]).toEqual([true, true]);
  expect(requests.at(-1)?.[0]).toBe("verify/stop");
});

test("losing the kernel ends a running verification and keeps the result", async () => {
  const { verifier, ask } = world(ended({ ok: true }), running(1, 2));
  verifier.connected(ask);
  await settled();
  expect(verifier.state.ok).toBe(true);
  void verifier.begin();
  await settled();
  verifier.lost(ask);
  expect(verifier.state).toMatchObject({ status: "ended", ok: true });
});

test("shows a verification of another window while it runs and after", async () => {
  const { verifier, states, requests, notebook, ask } = world(NONE, running(1, 2), ended({ ok: true }));
  verifier.connected(ask);
  await settled();
  expect(states).toEqual(["running 1", "ended 0"]);
  expect(requests.map(([, params]) => params.revision)).toEqual([undefined, 0, 2, ENDED]);
  expect(verifier.isStale).toBe(false);
  notebook.code = "x = 2";
  expect(verifier.isStale).toBe(true);
});

test("takes over a turn's result, stale if the kernel reports so", async () => {
  const { verifier, ask } = world(ended({ findings: [FINDING], isStale: true }));
  verifier.connected(ask);
  await settled();
  expect(verifier.state.findings).toEqual([FINDING]);
  expect(verifier.isStale).toBe(true);
});

test("the agent gets the findings, and its next turn is verified", async () => {
  const { verifier, requests, sent } = world(
    ended({ findings: [FINDING], task: "Found: z" }),
    ended({ ok: true, time: 8 }),
  );
  await verifier.begin();
  verifier.turnEnded("t0");
  verifier.mend();
  expect(sent).toEqual([
    "Fix what the verification found: Cell [7] would fail: z is defined only in a deleted cell.\n\nFound: z",
  ]);
  verifier.turnEnded("t0");
  expect(requests.map(([method]) => method)).toEqual(["verify/begin", "verify/state"]);
  verifier.turnEnded("t1");
  await settled();
  expect(verifier.state.ok).toBe(true);
  expect(requests.map(([method]) => method)).toEqual(["verify/begin", "verify/state", "verify/begin", "verify/state"]);
});

test("shows the error, also when the verify plug-in is off", async () => {
  const off = Object.assign(new Error("There is no method"), { code: -32601 });
  const { verifier } = world(new Error("Save it under a name first."), off);
  await verifier.begin();
  expect(verifier.state.error).toBe("Save it under a name first.");
  await verifier.begin();
  expect(verifier.state.error).toContain("plug-in “verify” is off");
});
