import { expect, test } from "vitest";
import { reduceChat } from "../../src/state/chat.ts";
import { appended, findPart, partId, replaced, waitingCalls } from "../../src/state/parts.ts";
import type { Action, ChatState, ResponsePart } from "../../src/state/types.gen.ts";

function call(toolCallId: string, waits: boolean): ResponsePart {
  const base = { toolCallId, toolName: "read", displayName: "Read", invocationMessage: "Read" };
  const toolCall = waits
    ? { ...base, status: "pending-confirmation" as const }
    : { ...base, status: "running" as const, confirmed: "not-needed" };
  return { kind: "toolCall", toolCall };
}

function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
}

test("parts are found and counted as in plain arrays after any edits", () => {
  const random = numbers(7);
  const versions: (readonly ResponsePart[])[] = [[]];
  for (let step = 0; step < 3000; step++) {
    const parts = versions[random(versions.length)] ?? [];
    const at = parts.length > 0 ? random(parts.length) : -1;
    const old = parts[at];
    const isNew = old === undefined || random(3) > 0;
    const next = isNew
      ? appended(parts, call(String(random(30)), random(2) > 0))
      : replaced(parts, at, call(partId(old) ?? "", random(2) > 0));
    const model = isNew ? [...parts, next.at(-1)] : parts.map((part, i) => (i === at ? next[at] : part));
    expect(next).toEqual(model);
    for (let id = 0; id < 30; id += 7) {
      expect(findPart(next, String(id))).toBe(next.findLastIndex((part) => partId(part) === String(id)));
    }
    const waiting = next.filter((part) => part.kind === "toolCall" && part.toolCall.status === "pending-confirmation");
    expect(waitingCalls(next)).toBe(waiting.length);
    versions[random(12)] = next;
  }
});

/** Returns how often one more tool call reads the parts before it. */
function looksOfOneCall(before: number): number {
  let looks = 0;
  let responseParts: readonly ResponsePart[] = [];
  for (let number = 0; number < before; number++) {
    const { toolCall } = call(`c${number}`, false) as Extract<ResponsePart, { kind: "toolCall" }>;
    const part = {
      get kind() {
        looks += 1;
        return "toolCall" as const;
      },
      toolCall,
    };
    responseParts = appended(responseParts, part);
  }
  looks = 0;
  const message = { text: "hi", origin: { kind: "user" as const } };
  const named = { turnId: "t", toolCallId: "another" };
  const actions: Action[] = [
    { type: "chat/toolCallStart", ...named, toolName: "read", displayName: "Read" },
    { type: "chat/toolCallReady", ...named, invocationMessage: "Read", confirmed: "not-needed" },
    { type: "chat/toolCallComplete", ...named, result: { success: true, pastTenseMessage: "Read" } },
  ];
  const base = { resource: "eliza:/1/chat", title: "", status: 1, modifiedAt: "", turns: [] };
  let chat: ChatState = { ...base, activeTurn: { id: "t", message, responseParts } };
  for (const action of actions) chat = reduceChat(chat, action);
  expect(chat.activeTurn?.responseParts.length).toBe(before + 1);
  return looks;
}

test("a tool call reads none of the earlier parts, however many there are", () => {
  expect([looksOfOneCall(100), looksOfOneCall(4000)]).toEqual([0, 0]);
});
