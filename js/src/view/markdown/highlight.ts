/**
 * Syntax colours: source text to runs of one scope each, never to an HTML string.
 *
 * One pass with one pattern per language: comments, strings, numbers, words. It reads each letter about once, whatever
 * the text, and what it does not know stays plain.
 */
import { LANGUAGES, type Language } from "./languages";

const LONGEST = 60_000;
const WORD = "[A-Za-z_$][\\w$]*";
const INSIDE = /\$?\{[^{}"'`]*\}|\$\w+/;

/** A piece of code and its scope; "" where it has none. */
export type Run = readonly [scope: string, text: string];

interface Machine {
  pattern: RegExp;
  scopes: readonly string[];
  words: ReadonlyMap<string, string>;
  anyCase: boolean;
}

const machines = new Map<Language, Machine>();

/** The runs of `code`, or undefined where it stays plain. */
export function highlight(code: string, language: string | undefined): Run[] | undefined {
  const known = language === undefined ? undefined : LANGUAGES.get(language);
  return known && code.length <= LONGEST ? runs(code, machine(known)) : undefined;
}

function machine(language: Language): Machine {
  let made = machines.get(language);
  if (made) return made;
  const words = new Map<string, string>();
  for (const word of language.builtIns.split(" ")) words.set(word, "built_in");
  for (const word of language.keywords.split(" ")) words.set(word, "keyword");
  made = {
    pattern: new RegExp([...language.rules.map(([, rule]) => `(${rule})`), `(${WORD})`].join("|"), "gm"),
    scopes: language.rules.map(([scope]) => scope),
    words,
    anyCase: language.anyCase === true,
  };
  machines.set(language, made);
  return made;
}

function runs(code: string, machine: Machine): Run[] {
  const found: Run[] = [];
  const push = (scope: string, text: string) => {
    if (text !== "") found.push([scope, text]);
  };
  let from = 0;
  let before = "";
  for (const match of code.matchAll(machine.pattern)) {
    push("", code.slice(from, match.index));
    const text = match[0];
    from = match.index + text.length;
    const at = machine.scopes.findIndex((_, rule) => match[rule + 1] !== undefined);
    const scope = at < 0 ? wordScope(text, before, code[from], machine) : (machine.scopes[at] as string);
    if (scope === "template") for (const run of template(text, machine)) push(...run);
    else push(scope, text);
    before = at < 0 ? text : "";
  }
  push("", code.slice(from));
  return found;
}

const NAMES_A_FUNCTION = new Set(["def", "function", "fn", "func", "fun"]);
const NAMES_A_TYPE = new Set(["class", "struct", "interface", "trait", "enum"]);

function wordScope(word: string, before: string, next: string | undefined, { words, anyCase }: Machine): string {
  if (NAMES_A_FUNCTION.has(before)) return "title";
  if (NAMES_A_TYPE.has(before)) return "type";
  return words.get(anyCase ? word.toLowerCase() : word) ?? (next === "(" ? "call" : "");
}

/** A string with code in it: `${x}` and `{x}` are coloured as code. */
function template(text: string, machine: Machine): Run[] {
  return text
    .split(new RegExp(`(${INSIDE.source})`))
    .flatMap((piece, at): Run[] => (at % 2 === 0 ? [["string", piece]] : runs(piece, machine)));
}
