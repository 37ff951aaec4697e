/** Syntax colours: source text to a tree of scopes, never to an HTML string. */
import hljs from "highlight.js/lib/core";
import diff from "highlight.js/lib/languages/diff";
import ini from "highlight.js/lib/languages/ini";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { curly } from "./curly";
import { hash } from "./hash";
import sql from "./sql";

const LANGUAGES = { diff, ini, json, python, sql, xml, yaml, ...curly, ...hash };
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);
hljs.registerAliases(["ipython", "ipython3"], { languageName: "python" });

const LONGEST = 60_000;

export interface Scope {
  scope?: string;
  children: (Scope | string)[];
}

/** The coloured tree of `code`, or undefined where it stays plain. */
export function highlight(code: string, language: string | undefined): Scope | undefined {
  if (!language || code.length > LONGEST || !hljs.getLanguage(language)) return undefined;
  const result = hljs.highlight(code, { language, ignoreIllegals: true });
  return (result._emitter as unknown as { rootNode: Scope }).rootNode;
}

/** Class names of a scope, as highlight.js themes write them: `title.function` → `hljs-title function_`. */
export function scopeClass(scope: string): string {
  if (scope.startsWith("language:")) return scope.replace("language:", "language-");
  const [first, ...rest] = scope.split(".");
  return [`hljs-${first}`, ...rest.map((piece, depth) => `${piece}${"_".repeat(depth + 1)}`)].join(" ");
}
