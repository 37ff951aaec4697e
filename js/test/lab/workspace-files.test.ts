import { describe, expect, test } from "vitest";
import { openFile, placesOf } from "../../src/lab/workspace-files";

test.each<[string, string | undefined, string | undefined, string[]]>([
  ["the server's folder is the workspace's", "file:///srv/w", "/srv/w", ["src/a.py", "sub/src/a.py"]],
  ["the workspace is below it", "file:///srv/w/sub", "/srv/w/", ["sub/src/a.py"]],
  ["the workspace is another one below it", "file:///srv/w/other", "/srv/w", ["other/src/a.py", "sub/src/a.py"]],
  ["the workspace is elsewhere", "file:///tmp/w", "/srv/w", ["sub/src/a.py"]],
  ["a folder begins with the same letters", "file:///srv/work", "/srv/w", ["sub/src/a.py"]],
  ["the server's is in the home folder", "file:///home/ada/my%20work/x", "~/my work", ["x/src/a.py", "sub/src/a.py"]],
  ["the workspace is not said", undefined, "/srv/w", ["sub/src/a.py"]],
  ["the server's is not said", "file:///srv/w", undefined, ["sub/src/a.py"]],
  ["the workspace makes no sense", "file:///%E0%A4%A", "/srv/w", ["sub/src/a.py"]],
])("a file is looked for where it is likeliest: %s", (_, workspace, serverRoot, expected) => {
  expect(placesOf("src/a.py", workspace, "sub/fit.ipynb", serverRoot)).toEqual(expected);
});

test("a file beside a notebook at the top is at the top", () => {
  expect(placesOf("a.py", undefined, "fit.ipynb", undefined)).toEqual(["a.py"]);
});

test.each<[string, string | undefined, string[]]>([
  ["below the server's folder", "/srv/w", ["lib/a b.py"]],
  ["elsewhere", "/home/ada", []],
  ["who knows where", undefined, []],
])("a whole path is looked for below the server's folder only: %s", (_, serverRoot, expected) => {
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
    ["the kernel's, too", file, { size: 5, modified: modified - 300 }, /^docmanager:open a\.py$/],
    ["another one by its size", file, { size: 6, modified }, /on the kernel's machine/],
    ["another one by its time", file, { size: 5, modified: modified - 60_000 }, /on the kernel's machine/],
    ["one of which the kernel says nothing", file, undefined, /^docmanager:open/],
    ["one whose server tells no time", { size: 5 }, { size: 5, modified }, /^docmanager:open/],
    ["none", undefined, { size: 5, modified }, /outside the server's folder, on another machine, or missing/],
  ])("where the server has %s", async (_, model, there, expected) => {
    expect(await opening(model, there)).toEqual([expect.stringMatching(expected)]);
  });
});
