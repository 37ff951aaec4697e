import { expect, test } from "vitest";
import { placesOf } from "../../src/lab/workspace-files";

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
