/**
 * Syntax colours: splits source text into pieces with a scope each (highlight.js), never into an HTML string. Fetched
 * when the view first shows code: it would be a tenth of what loads at once.
 */
import type { LanguageFn } from "highlight.js";
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import json from "highlight.js/lib/languages/json";
import julia from "highlight.js/lib/languages/julia";
import latex from "highlight.js/lib/languages/latex";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import rust from "highlight.js/lib/languages/rust";
import shell from "highlight.js/lib/languages/shell";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES: [string, LanguageFn][] = Object.entries({
  bash,
  cpp,
  diff,
  dockerfile,
  go,
  ini,
  java,
  json,
  julia,
  latex,
  makefile,
  markdown,
  python,
  r,
  rust,
  shell,
  sql,
  typescript,
  xml,
  yaml,
});
for (const [name, language] of LANGUAGES) hljs.registerLanguage(name, language);
hljs.registerAliases(["ipython", "ipython3", "python3"], { languageName: "python" });
// TypeScript's grammar includes JavaScript's, and C++'s reads C: one of each is enough.
hljs.registerAliases(["javascript", "js", "jsx", "mjs"], { languageName: "typescript" });
hljs.registerAliases(["c", "h"], { languageName: "cpp" });

/** A piece of code and its scope; "" if it has none. */
export type Run = readonly [scope: string, text: string];

interface Scope {
  scope?: string;
  children: (Scope | string)[];
}

/** Returns the pieces of `code`, or undefined if no grammar reads `language`. */
export default function highlight(code: string, language: string): Run[] | undefined {
  if (!hljs.getLanguage(language)) return undefined;
  const result = hljs.highlight(code, { language, ignoreIllegals: true });
  const runs: Run[] = [];
  collect((result._emitter as unknown as { rootNode: Scope }).rootNode, "", runs);
  return runs;
}

/** Merges neighbours of one scope; an inner scope replaces the outer one. */
function collect(node: Scope, outer: string, runs: Run[]): void {
  const scope = node.scope && !node.scope.startsWith("language:") ? classOf(node.scope) : outer;
  for (const child of node.children) {
    if (typeof child !== "string") collect(child, scope, runs);
    else if (runs.at(-1)?.[0] === scope) runs.push([scope, (runs.pop() as Run)[1] + child]);
    else runs.push([scope, child]);
  }
}

/** The style sheet uses only the first word of a scope, except for calls. */
function classOf(scope: string): string {
  if (scope === "title.function.invoke") return "call";
  return scope.startsWith("char.") || scope === "subst" ? "" : (scope.split(".")[0] as string);
}
