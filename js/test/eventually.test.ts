import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

test("tests use eventually, not vi.waitFor, vi.waitUntil or expect.poll", () => {
  const folder = import.meta.dirname;
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
  const waits = files.filter((name) =>
    /\bvi\.wait(?:For|Until)\(|\bexpect\.poll\(/.test(readFileSync(join(folder, name), "utf8")),
  );
  expect(waits).toEqual([]);
});
