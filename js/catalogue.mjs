/** Prints the messages of the front end as JSON: `{id, plural, at}`, in the order of files and lines. */
import { readFile } from "node:fs/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { filesOf, isTranslated, translated } from "./translate.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const found = [];
for (const path of await filesOf("ts", "tsx")) {
  const file = relative(root, path);
  if (!isTranslated(file.replace("js/src/", "")) || file.startsWith("js/src/phone-page/")) continue;
  const code = await readFile(path, "utf8");
  const { messages } = await translated(path);
  for (const { id, plural, at } of messages)
    found.push({ id, plural, at: `${file}:${code.slice(0, at).split("\n").length}` });
}
console.log(JSON.stringify(found));
