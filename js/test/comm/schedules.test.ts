/**
 * Replays schedules from Python in the client (`tests/unit/server/test_schedules.py`, `AGENTNB_SCHEDULE_FILE`): the
 * messages that a page received, in their order and at their times. The client must send the same messages as the page
 * in Python, and show the same.
 */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Client, type Wire } from "../../src/comm/client.ts";
import type { Action } from "../../src/state/types.gen.ts";
import { ROOT } from "../../src/view/identity.ts";

interface Event {
  at: number;
  hear?: unknown;
  follow?: string;
  show?: boolean;
  dispatch?: Action;
  channel?: string;
}

interface Schedule {
  clientId: string;
  until: number;
  events: Event[];
  said: unknown[];
  shown: Record<string, unknown>;
}

const file = process.env.AGENTNB_SCHEDULE_FILE;
/** The number of lines per test: one test for each line would cost more than the line. */
const BATCH = 100;
const LONGEST_MS = 120_000;
const lines = file === undefined ? [] : readFileSync(file, "utf8").trim().split("\n");

class Paper implements Wire {
  messages: unknown[] = [];
  #listeners = new Set<(message: unknown) => void>();

  send(message: unknown): void {
    this.messages.push(structuredClone(message));
  }

  on(_event: "msg:custom", listener: (message: unknown) => void): void {
    this.#listeners.add(listener);
  }

  off(_event: "msg:custom", listener: (message: unknown) => void): void {
    this.#listeners.delete(listener);
  }

  tell(message: unknown): void {
    for (const listener of this.#listeners) listener(message);
  }
}

/** The state that `client` shows on a channel; undefined without one. */
function stateOf(client: Client, uri: string): unknown {
  if (uri === ROOT) return client.root.value;
  return uri.endsWith("/chat") ? client.chat(uri).value : client.session(uri).value;
}

async function follow(schedule: Schedule, wire: Paper, client: Client): Promise<void> {
  const view = client.view("view");
  let now = 0;
  for (const { at, hear, follow, show, dispatch, channel } of schedule.events) {
    await vi.advanceTimersByTimeAsync(at - now);
    now = at;
    if (hear !== undefined) wire.tell(hear);
    if (follow !== undefined) stateOf(client, follow);
    if (show !== undefined) view.setVisible(show);
    if (dispatch !== undefined && channel !== undefined) client.dispatch(channel, dispatch);
    await vi.advanceTimersByTimeAsync(0);
  }
  await vi.advanceTimersByTimeAsync(schedule.until - now);
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Replays one schedule in a client, and reports the differences. */
async function take(line: string): Promise<void> {
  const wire = new Paper();
  const client = new Client(wire);
  const { clientId } = JSON.parse(line) as Schedule;
  const schedule = JSON.parse(line.replaceAll(`"${clientId}"`, `"${client.clientId}"`)) as Schedule;
  await follow(schedule, wire, client);
  const states = Object.fromEntries(Object.keys(schedule.shown).map((uri) => [uri, stateOf(client, uri) ?? null]));
  const messages = JSON.parse(JSON.stringify(wire.messages));
  client.dispose();
  expect(messages).toEqual(schedule.said);
  expect(JSON.parse(JSON.stringify(states))).toEqual(schedule.shown);
}

describe.skipIf(lines.length === 0)("schedules", () => {
  const batches = Array.from({ length: Math.ceil(lines.length / BATCH) }, (_, at) => at * BATCH);
  test.each(batches)(
    "from number %i on give the same messages and states as in Python",
    async (from) => {
      for (const line of lines.slice(from, from + BATCH)) await take(line);
    },
    LONGEST_MS,
  );
});
