/** Messages from the wire are checked before a reducer gets them. */
import { describe, expect, test } from "vitest";
import { isAction, isEnvelope } from "../../src/state/guard.ts";

const delta = { type: "chat/delta", turnId: "t", partId: "p", content: "x" };
const envelope = { channel: "eliza:/1", index: 3, action: delta };

describe("an action", () => {
  test.each([
    ["a known one", delta],
    ["one with a time", { ...delta, time: 9999 }],
    ["one of an unknown type", { type: "chat/notYetKnown" }],
    ["one named like a method of objects", { type: "constructor" }],
    ["one with fields that we do not know", { ...delta, newer: true }],
    ["a part of an unknown kind", { type: "chat/responsePart", turnId: "t", part: { kind: "future" } }],
    ["a late one", { type: "x-agentnb/late", turnId: "t", action: delta }],
  ])("is well-formed: %s", (_, action) => {
    expect(isAction(action)).toBe(true);
  });

  test.each([
    ["null", null],
    ["text", "chat/delta"],
    ["an array", [delta]],
    ["no type", { turnId: "t" }],
    ["a type that is no text", { type: 3 }],
    ["a missing field", { type: "chat/delta", turnId: "t", partId: "p" }],
    ["a wrong field", { ...delta, content: 3 }],
    ["null for a field", { ...delta, content: null }],
    ["an object for an array", { type: "root/agentsChanged", agents: {} }],
    ["an array for an object", { type: "chat/turnStarted", turnId: "t", message: [] }],
    ["a time that is none", { ...delta, time: "now" }],
    ["a time that no calendar has", { ...delta, time: 1e18 }],
    ["a part without a kind", { type: "chat/responsePart", turnId: "t", part: {} }],
    ["a Markdown part without text", { type: "chat/responsePart", turnId: "t", part: { kind: "markdown", id: "p" } }],
    [
      "a tool call without a state",
      { type: "chat/responsePart", turnId: "t", part: { kind: "toolCall", toolCall: {} } },
    ],
    ["a late one with a malformed action", { type: "x-agentnb/late", turnId: "t", action: {} }],
  ])("is malformed: %s", (_, action) => {
    expect(isAction(action)).toBe(false);
  });
});

describe("an envelope", () => {
  test.each([
    ["the least", envelope],
    ["merged deltas", { ...envelope, first: 1 }],
    ["an echo", { ...envelope, origin: { clientId: "c", clientSeq: 0 } }],
    ["a rejection", { ...envelope, rejectionReason: "Too late." }],
  ])("is well-formed: %s", (_, value) => {
    expect(isEnvelope(value)).toBe(true);
  });

  test.each([
    ["index 0", { ...envelope, index: 0 }],
    ["a broken index", { ...envelope, index: 1.5 }],
    ["an index that is text", { ...envelope, index: "3" }],
    ["first after last", { ...envelope, first: 4 }],
    ["no channel", { index: 1, action: delta }],
    ["no action", { channel: "c", index: 1 }],
    ["an origin without a count", { ...envelope, origin: { clientId: "c" } }],
    ["a reason that is no text", { ...envelope, rejectionReason: 3 }],
  ])("is malformed: %s", (_, value) => {
    expect(isEnvelope(value)).toBe(false);
  });
});
