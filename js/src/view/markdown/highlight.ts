/** Syntax colours: source text to pieces with a scope each (highlight.js), never to an HTML string. */
import { signal } from "@preact/signals";
import type { LanguageFn } from "highlight.js";
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import diff from "highlight.js/lib/languages/diff";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import shell from "highlight.js/lib/languages/shell";
import yaml from "highlight.js/lib/languages/yaml";
import type { Store } from "../store";

const LANGUAGES = {
  bash,
  diff,
  json,
  python,
  shell,
  yaml,
};

function register(languages: Record<string, LanguageFn>): void {
  for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);
}

register(LANGUAGES);
hljs.registerAliases(["ipython", "ipython3", "python3"], { languageName: "python" });

let fetched: Promise<unknown> | undefined;
/** Counts up when there are more grammars than before. */
export const grammars = signal(0);

/** Fetches the other grammars (`js/src/grammars.ts`), once, where `language` is none of those that are here. */
export function needGrammar(language: string | undefined, fetch: Store["module"]): void {
  if (!language || fetched || !fetch || hljs.getLanguage(language)) return;
  fetched = fetch("grammars").then(({ default: others }) => {
    register(others as Record<string, LanguageFn>);
    // TypeScript's grammar has JavaScript's inside, and C++'s reads C: one of each is enough.
    hljs.registerAliases(["javascript", "js", "jsx", "mjs"], { languageName: "typescript" });
    hljs.registerAliases(["c", "h"], { languageName: "cpp" });
    grammars.value += 1;
  }, console.debug);
}

/** Longer code stays plain: grammars take up to a millisecond per hundred characters. */
const LONGEST = 30_000;
const LONGEST_LINE = 2_000;

/** A piece of code and its scope; "" where it has none. */
export type Run = readonly [scope: string, text: string];

interface Scope {
  scope?: string;
  children: (Scope | string)[];
}

/** The pieces of `code`, or undefined where it stays plain. */
export function highlight(code: string, language: string | undefined): Run[] | undefined {
  if (!language || code.length > LONGEST || !hljs.getLanguage(language)) return undefined;
  if (code.split("\n").some((line) => line.length > LONGEST_LINE)) return undefined;
  const result = hljs.highlight(code, { language, ignoreIllegals: true });
  const runs: Run[] = [];
  collect((result._emitter as unknown as { rootNode: Scope }).rootNode, "", runs);
  return runs;
}

/** Neighbours of one scope become one piece; an inner scope replaces the outer one. */
function collect(node: Scope, outer: string, runs: Run[]): void {
  const scope = node.scope && !node.scope.startsWith("language:") ? classOf(node.scope) : outer;
  for (const child of node.children) {
    if (typeof child !== "string") collect(child, scope, runs);
    else if (runs.at(-1)?.[0] === scope) runs.push([scope, (runs.pop() as Run)[1] + child]);
    else runs.push([scope, child]);
  }
}

/** The style sheet knows the first word of a scope, and calls. */
function classOf(scope: string): string {
  if (scope === "title.function.invoke") return "call";
  return scope.startsWith("char.") || scope === "subst" ? "" : (scope.split(".")[0] as string);
}
