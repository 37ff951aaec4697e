/** Messages from the wire are checked before a reducer gets them. */
import { describe, expect, test } from "vitest";
import { isAction, isEnvelope } from "../../src/state/guard.ts";

const delta = { type: "chat/delta", turnId: "t", partId: "p", content: "x" };
const envelope = { channel: "eliza:/1", index: 3, action: delta };

describe("isAction", () => {
  test.each([
    ["a known type", delta],
    ["with a time", { ...delta, time: 9999 }],
    ["an unknown type", { type: "chat/notYetKnown" }],
    ["a type named after an object method", { type: "constructor" }],
    ["an unknown field", { ...delta, newer: true }],
    ["a part of an unknown kind", { type: "chat/responsePart", turnId: "t", part: { kind: "future" } }],
    ["a late action", { type: "x-agentnb/late", turnId: "t", action: delta }],
  ])("accepts an action: %s", (_, action) => {
    expect(isAction(action)).toBe(true);
  });

  test.each([
    ["null", null],
    ["text", "chat/delta"],
    ["an array", [delta]],
    ["no type", { turnId: "t" }],
    ["a type that is not text", { type: 3 }],
    ["a missing field", { type: "chat/delta", turnId: "t", partId: "p" }],
    ["a wrong field", { ...delta, content: 3 }],
    ["null for a field", { ...delta, content: null }],
    ["an object for an array", { type: "root/agentsChanged", agents: {} }],
    ["an array for an object", { type: "chat/turnStarted", turnId: "t", message: [] }],
    ["a time that is not a number", { ...delta, time: "now" }],
    ["a time outside the range of dates", { ...delta, time: 1e18 }],
    ["a part without a kind", { type: "chat/responsePart", turnId: "t", part: {} }],
    ["a Markdown part without text", { type: "chat/responsePart", turnId: "t", part: { kind: "markdown", id: "p" } }],
    [
      "a tool call without a state",
      { type: "chat/responsePart", turnId: "t", part: { kind: "toolCall", toolCall: {} } },
    ],
    ["a late action with a malformed inner action", { type: "x-agentnb/late", turnId: "t", action: {} }],
  ])("rejects an action: %s", (_, action) => {
    expect(isAction(action)).toBe(false);
  });
});

describe("isEnvelope", () => {
  test.each([
    ["only the required fields", envelope],
    ["merged deltas", { ...envelope, first: 1 }],
    ["an echo", { ...envelope, origin: { clientId: "c", clientSeq: 0 } }],
    ["a rejection", { ...envelope, rejectionReason: "Too late." }],
  ])("accepts an envelope: %s", (_, value) => {
    expect(isEnvelope(value)).toBe(true);
  });

  test.each([
    ["index 0", { ...envelope, index: 0 }],
    ["a fractional index", { ...envelope, index: 1.5 }],
    ["an index that is text", { ...envelope, index: "3" }],
    ["first after last", { ...envelope, first: 4 }],
    ["no channel", { index: 1, action: delta }],
    ["no action", { channel: "c", index: 1 }],
    ["an origin without clientSeq", { ...envelope, origin: { clientId: "c" } }],
    ["a reason that is not text", { ...envelope, rejectionReason: 3 }],
  ])("rejects an envelope: %s", (_, value) => {
    expect(isEnvelope(value)).toBe(false);
  });
});
