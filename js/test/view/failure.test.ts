/** The reason why a tool call failed, in one sentence. */
import { expect, test } from "vitest";
import type { ToolCallState } from "../../src/state/types.gen";
import { failureSentence } from "../../src/view/failure";

const failed = (text: string, error?: string) =>
  ({
    status: "completed",
    success: false,
    details: { content: [{ type: "text", text }] },
    ...(error && { error: { message: error } }),
  }) as unknown as ToolCallState;

test.each([
  ["Refused\n  at socket.c", undefined, "Refused"],
  ["text", "The error itself", "The error itself"],
  ["\n---\n  No such file: a.csv\nmore", undefined, "No such file: a.csv"],
  [
    "```\nTraceback (most recent call last)\n  1/0\nZeroDivisionError: division by zero\n```",
    undefined,
    "ZeroDivisionError: division by zero",
  ],
  ["", undefined, ""],
])("for text %j and error %j the sentence is %j", (text, error, expected) => {
  expect(failureSentence(failed(text, error))).toEqual(expected);
});

test("shortens an error text of one megabyte", () => {
  const sentence = failureSentence(failed(`Too much: ${"y".repeat(1_000_000)}`));
  expect(sentence.length).toBeLessThanOrEqual(200);
  expect(failureSentence(failed(`Traceback (most recent call last)\n${"z\n".repeat(500_000)}ValueError: x`))).toEqual(
    "ValueError: x",
  );
});
