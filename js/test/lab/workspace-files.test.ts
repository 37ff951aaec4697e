import { describe, expect, test } from "vitest";
import { openFile, placesOf } from "../../src/lab/workspace-files";

test.each<[string, string | undefined, string | undefined, string[]]>([
  ["the workspace is the server's folder", "file:///srv/w", "/srv/w", ["src/a.py", "sub/src/a.py"]],
  ["the workspace is below the server's folder", "file:///srv/w/sub", "/srv/w/", ["sub/src/a.py"]],
  ["the workspace is a sibling folder", "file:///srv/w/other", "/srv/w", ["other/src/a.py", "sub/src/a.py"]],
  ["the workspace is elsewhere", "file:///tmp/w", "/srv/w", ["sub/src/a.py"]],
  ["the workspace's name starts with the server folder's", "file:///srv/work", "/srv/w", ["sub/src/a.py"]],
  ["the server's folder is below ~", "file:///home/ada/my%20work/x", "~/my work", ["x/src/a.py", "sub/src/a.py"]],
  ["the workspace is unknown", undefined, "/srv/w", ["sub/src/a.py"]],
  ["the server's folder is unknown", "file:///srv/w", undefined, ["sub/src/a.py"]],
  ["the workspace is an invalid address", "file:///%E0%A4%A", "/srv/w", ["sub/src/a.py"]],
])("searches the likeliest places for a file first: %s", (_, workspace, serverRoot, expected) => {
  expect(placesOf("src/a.py", workspace, "sub/fit.ipynb", serverRoot)).toEqual(expected);
});

test("finds a file next to a top-level notebook at the top level", () => {
  expect(placesOf("a.py", undefined, "fit.ipynb", undefined)).toEqual(["a.py"]);
});

test.each<[string, string | undefined, string[]]>([
  ["a path in it", "/srv/w", ["lib/a b.py"]],
  ["a path outside", "/home/ada", []],
  ["an unknown server folder", undefined, []],
])("searches an absolute path only in the server's folder: %s", (_, serverRoot, expected) => {
  expect(placesOf("/srv/w/lib/a b.py", "file:///srv/w/sub", "sub/fit.ipynb", serverRoot)).toEqual(expected);
});

describe("opening a file", () => {
  const file = { size: 5, last_modified: "2026-11-28T05:00:00.250000Z" };
  const modified = Date.parse(file.last_modified);

  async function opening(model: object | undefined, there?: object): Promise<string[]> {
    const events: string[] = [];
    const app = {
      serviceManager: { contents: { get: async () => (model ? model : Promise.reject(new Error("404"))) } },
      commands: { execute: async (name: string, { path }: { path: string }) => void events.push(`${name} ${path}`) },
    } as unknown as Parameters<typeof openFile>[0];
    const state = there && (async () => there as { size: number; modified: number });
    await openFile(app, ["a.py"], (sentence) => void events.push(sentence), undefined, state);
    return events;
  }

  test.each<[string, object | undefined, object | undefined, RegExp]>([
    ["the same file", file, { size: 5, modified: modified - 300 }, /^docmanager:open a\.py$/],
    ["a file of another size", file, { size: 6, modified }, /on the kernel's machine/],
    ["a file with another time", file, { size: 5, modified: modified - 60_000 }, /on the kernel's machine/],
    ["a file that the kernel does not describe", file, undefined, /^docmanager:open/],
    ["a file without a time", { size: 5 }, { size: 5, modified }, /^docmanager:open/],
    ["no file", undefined, { size: 5, modified }, /outside the server's folder, on another machine, or missing/],
  ])("opens the file or explains the problem when the server has %s", async (_, model, there, expected) => {
    expect(await opening(model, there)).toEqual([expect.stringMatching(expected)]);
  });
});
