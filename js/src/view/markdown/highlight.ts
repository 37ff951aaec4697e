/** Syntax colours: source text to a tree of scopes, never to an HTML string. */
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import diff from "highlight.js/lib/languages/diff";
import ini from "highlight.js/lib/languages/ini";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import rust from "highlight.js/lib/languages/rust";

import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import sql from "./sql";

const LANGUAGES = {
  bash,
  diff,
  ini,
  json,
  markdown,
  python,
  r,
  rust,
  sql,
  typescript,
  xml,
  yaml,
};
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);
// TypeScript's grammar holds JavaScript's: one of them is enough for the bundle.
hljs.registerAliases(["javascript", "js", "jsx", "mjs", "cjs"], { languageName: "typescript" });
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
