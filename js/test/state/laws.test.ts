/** Laws of the reducers that a single case cannot show. */
import { describe, expect, test } from "vitest";
import { changed, same } from "../../src/state/change.ts";
import { waitingRequests } from "../../src/state/chat-inputs.ts";
import { reduceChat, reduceRoot, reduceSession } from "../../src/state/reduce.ts";
import type { Action, ChatState, ResponsePart } from "../../src/state/types.gen.ts";

const message = { text: "Hello", origin: { kind: "user" } };

function running(responseParts: readonly ResponsePart[]): ChatState {
  const activeTurn = { id: "t", message, responseParts };
  return { resource: "c", title: "", status: 8, modifiedAt: "", turns: [], activeTurn };
}

/** Every way to cut a text into two or three pieces. */
function cuts(text: string): string[][] {
  const places = Array.from({ length: text.length + 1 }, (_, i) => i);
  return places.flatMap((i) =>
    places.filter((j) => j >= i).map((j) => [text.slice(0, i), text.slice(i, j), text.slice(j)]),
  );
}

test("deltas split anywhere give the same text and keep other parts", () => {
  const text = "Hé, 👩‍💻!";
  const before: ResponsePart = { kind: "reasoning", id: "p1", content: "hm" };
  const after: ResponsePart = { kind: "markdown", id: "p3", content: "." };
  for (const chunks of cuts(text)) {
    const start = running([before, { kind: "markdown", id: "p2", content: "" }, after]);
    const end = chunks.reduce(
      (state, content) => reduceChat(state, { type: "chat/delta", turnId: "t", partId: "p2", content }),
      start,
    );
    const parts = end.activeTurn?.responseParts ?? [];
    expect(parts).toEqual([before, { kind: "markdown", id: "p2", content: text }, after]);
    expect(parts[0]).toBe(before);
    expect(parts[2]).toBe(after);
    expect(end.turns).toBe(start.turns);
    expect(end.activeTurn?.message).toBe(message);
  }
});

test("an action named after an object method changes nothing", () => {
  const action = { type: "constructor" } as unknown as Action;
  const chat = running([]);
  const root = { agents: [] };
  const session = { provider: "p", title: "", status: 1, lifecycle: "ready", chats: [] } as const;
  expect(reduceChat(chat, action)).toBe(chat);
  expect(reduceRoot(root, action)).toBe(root);
  expect(reduceSession(session, action)).toBe(session);
});

test("a question's id may be any text, even __proto__", () => {
  const chat = running([{ kind: "inputRequest", request: { id: "i" } }]);
  const answer = { state: "skipped" } as const;
  const next = reduceChat(chat, { type: "chat/inputAnswerChanged", requestId: "i", questionId: "__proto__", answer });
  expect(Object.keys(waitingRequests(next)[0]?.answers ?? {})).toEqual(["__proto__"]);
});

describe("same", () => {
  test.each<[unknown, unknown, boolean]>([
    [{ a: [1, { b: "x" }] }, { a: [1, { b: "x" }] }, true],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: undefined }, {}, true],
    [{ a: undefined }, { b: undefined }, true],
    [{ a: null }, {}, false],
    [{ a: 1 }, { b: 1 }, false],
    [0, false, false],
    [[], {}, false],
    [[1], [1, 2], false],
    [null, {}, false],
  ])("%j and %j: %s", (a, b, expected) => {
    expect([same(a, b), same(b, a)]).toEqual([expected, expected]);
  });
});

test("changed() returns the same object if nothing changes, omits undefined", () => {
  const object: { a?: number; b: readonly number[] } = { a: 1, b: [2] };
  expect(changed(object, { a: 1, b: [2] })).toBe(object);
  expect(changed(object, { a: 3 }).b).toBe(object.b);
  expect(Object.keys(changed(object, { a: undefined }))).toEqual(["b"]);
});
