/**
 * Translates without marks in the sources: the build finds texts for people in the syntax tree and wraps them
 * (docs/decisions/0421-translation-at-build-time.md). What loads at once is built without it, and costs nothing more.
 *
 * It finds the text between tags, the attributes that are read out or shown, and every other string that reads as
 * words. A text and the values in it are one message, `Show {0} earlier`; `n === 1 ? "turn" : "turns"` in it makes it a
 * plural.
 */
import { readdir, readFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import MagicString from "magic-string";
import { parseAst } from "rolldown/parseAst";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const SOURCES = here("src");
/** The functions in `src/translation.ts`. */
const NAMES = { text: "$t", plural: "$tn", nodes: "$tx" };
const SHOWN = new Set([
  "aria-label",
  "aria-description",
  "title",
  "placeholder",
  "label",
  "alt",
  "text",
  "said",
  "what",
]);
const CODE_PROPERTIES = new Set([
  "class",
  "className",
  "role",
  "type",
  "kind",
  "style",
  "key",
  "id",
  "for",
  "href",
  "d",
]);
const CODE_CALLS =
  /^(querySelector(All)?|closest|matches|addEventListener|removeEventListener|dispatchEvent|getItem|setItem|removeItem|includes|startsWith|endsWith|split|join|replace|replaceAll|has|get|add|remove|toggle|delete|RegExp|CustomEvent|Event|URL|getElementById|createElement|createElementNS|setAttribute|getAttribute|request|notify|import|require|warn|error|requestExecute|createComm|execute|hasCommand|useMemory|useHostEvent|moduleOf|part|localeCompare|setProperty|getPropertyValue|matchMedia)$/;
/** Names of keys, words of the platform, and addresses: never shown. */
const CODE_WORDS =
  /^(Enter|Escape|Tab|Home|End|Page(Up|Down)|Arrow(Up|Down|Left|Right)|Delete|Backspace|Shift|Control|Alt|Meta|Highlight|IntersectionObserver|ResizeObserver|Notification|JupyterLab (Light|Dark)|[A-Z]\w*(Error|Event)|I[A-Z]\w+|[A-Z][a-z]+[A-Z]\w*|Landlock|Python|Markdown|SVG|NaN|UTC|F\d+)$/;

/** Strings with spaces that are code nevertheless: styles, addresses, our own names, words of MathML. */
const CODE =
  /!important|^(calc|min|max)\(|^(data|anywidget):|^%?pip |^%%|^agentnb[-: ]|\bis-\{|^vars\(|^\(?\{\d\}\)? agentnb$|^active tab$/;
const CODE_FILES = /^math\.ts$/;

/** Finds the messages of one file, and replaces them by calls. */
class Finder {
  constructor(code, isClass) {
    this.code = code;
    this.text = new MagicString(code);
    this.messages = [];
    this.isClass = isClass;
    this.used = new Set();
  }

  source(node) {
    return this.text.slice(node.start, node.end);
  }

  visit(node, parent, grandparent) {
    if (Array.isArray(node)) for (const each of node) this.visit(each, parent, grandparent);
    if (!node || typeof node.type !== "string") return;
    if (node.type.startsWith("TS") && !/^TS(As|Satisfies|NonNull)/.test(node.type)) return;
    if (/^(Import|Export(All|Named)Declaration$)/.test(node.type) && node.source) return;
    switch (node.type) {
      case "JSXElement":
      case "JSXFragment":
        return this.element(node);
      case "JSXAttribute":
        return this.attribute(node);
      case "Property":
        if (node.computed) this.visit(node.key, node, parent);
        return isCodeProperty(node.key) ? this.functions(node.value) : this.visit(node.value, node, parent);
      case "CallExpression":
      case "NewExpression":
        return this.call(node);
      case "ConditionalExpression": {
        const number = numberOf(node);
        const [one, many] = number ? branches(node) : [];
        if (!one || !isLiteral(one) || !isLiteral(many)) break;
        return this.choice(node, number, one, many, parent);
      }
      case "SwitchCase":
        if (node.test && isLiteral(node.test)) this.visit(node.test, node);
        return this.visit(node.consequent, node, parent);
      case "MemberExpression":
        this.visit(node.object, node, parent);
        return node.computed && !isLiteral(node.property) ? this.visit(node.property, node, parent) : undefined;
      case "TaggedTemplateExpression":
        return undefined;
      case "Literal":
        return typeof node.value === "string" && this.isProse(node.value)
          ? this.replace(node, node.value, [])
          : undefined;
      case "TemplateLiteral":
        return this.template(node);
    }
    this.parts(node);
  }

  parts(node) {
    for (const [name, value] of Object.entries(node))
      if (name !== "type" && value && typeof value === "object") this.visit(value, node);
  }

  /** Visits only functions, elements and calls in a value that is not a message: they may show messages. */
  functions(node) {
    if (/Function|JSX|Call/.test(node?.type ?? "")) this.visit(node);
  }

  call(node) {
    const name = node.callee.property?.name ?? node.callee.name ?? "";
    this.visit(node.callee, node);
    node.arguments.forEach((argument, at) => {
      const isCode =
        CODE_CALLS.test(name) ||
        (name === "element" && at < 2 && argument.type !== "ObjectExpression") ||
        (name === "button" && at === 2 && argument.type !== "ObjectExpression");
      if (isCode) this.functions(argument);
      else this.visit(argument, node);
    });
  }

  attribute(node) {
    const { value } = node;
    const name = node.name.name;
    if (!value) return;
    const isShown = SHOWN.has(name);
    if (value.type === "Literal") {
      if (CODE_PROPERTIES.has(name) || !/\p{L}/u.test(value.value) || !(isShown || this.isProse(value.value))) return;
      this.messages.push({ id: value.value, at: value.start });
      this.used.add("text");
      this.text.update(value.start, value.end, `{${NAMES.text}(${JSON.stringify(value.value)})}`);
    } else if (CODE_PROPERTIES.has(name)) this.functions(value.expression);
    else this.visit(value.expression, node);
  }

  /** A run of texts and values is one message. */
  element(node) {
    if (node.openingElement) this.visit(node.openingElement.attributes, node);
    let run = [];
    const end = () => {
      if (run.some((child) => child.type === "JSXText" && /\p{L}/u.test(child.value))) this.run(run);
      else
        for (const child of run) this.visit(child.type === "JSXExpressionContainer" ? child.expression : child, node);
      run = [];
    };
    for (const child of node.children) {
      const isBreak = child.type === "JSXText" && /^\s*\n\s*$/.test(child.value);
      if (isBreak) end();
      else run.push(child);
    }
    end();
  }

  run(children) {
    // Leaves out elements at both ends: their texts are separate messages.
    while (isOutside(children[0])) this.outside(children.shift());
    while (isOutside(children.at(-1))) this.outside(children.pop());
    const values = [];
    let id = "";
    for (const child of children) {
      if (child.type === "JSXText") id += cleaned(child.value);
      else if (isSpace(child)) id += " ";
      else {
        const inner = child.type === "JSXExpressionContainer" ? child.expression : child;
        if (inner.type === "JSXEmptyExpression") continue;
        if (!choiceOf(inner)) this.visit(inner);
        id += `{${values.length}}`;
        values.push(inner);
      }
    }
    const [start, end] = [children[0].start, children.at(-1).end];
    const plural = values.length ? this.plural(id, values) : undefined;
    const [head, body, tail] = id.match(/^(\s*)([\s\S]*?)(\s*)$/).slice(1);
    const args = values.map((value) => this.source(value));
    const call = plural
      ? this.pluralCall(plural)
      : values.length === 0
        ? `${NAMES.text}(${JSON.stringify(body)})`
        : `${NAMES.nodes}(${[JSON.stringify(body), ...args].join(", ")})`;
    if (!plural) {
      this.messages.push({ id: body, at: start });
      this.used.add(values.length ? "nodes" : "text");
    }
    const space = (text) => (text ? `{${JSON.stringify(text)}}` : "");
    this.text.update(start, end, plural ? `{${call}}` : `${space(head)}{${call}}${space(tail)}`);
  }

  outside(child) {
    this.visit(child.type === "JSXExpressionContainer" ? child.expression : child);
  }

  /** Handles `n === 1 ? "The cell" : `${n} cells`` outside a message. */
  choice(node, number, one, many) {
    const [forms, values] = [one, many].reduce(
      ([forms, values], branch) => {
        const all = branch.expressions ?? [];
        for (const each of all) this.visit(each, branch);
        const shift = values.length;
        return [
          [...forms, idOf(branch).replace(/\{(\d)\}/g, (_, at) => `{${Number(at) + shift}}`)],
          [...values, ...all],
        ];
      },
      [[], []],
    );
    if (!forms.every((form) => this.isProse(form))) return this.parts(node);
    const args = values.map((value) => this.source(value));
    this.text.update(
      node.start,
      node.end,
      this.pluralCall({ forms, number: this.source(number), args, at: node.start }),
    );
  }

  template(node) {
    for (const each of node.expressions) if (!choiceOf(each)) this.visit(each, node);
    const pieces = node.quasis.map(({ value }) => value.cooked);
    const id = idOf(node);
    if (pieces.some((piece) => /[{}]/.test(piece))) return;
    const plural = this.plural(id, node.expressions);
    if (!plural && (CODE.test(id) || !this.isProse(pieces.join(" ")))) return;
    if (plural) this.text.update(node.start, node.end, this.pluralCall(plural));
    else
      this.replace(
        node,
        id,
        node.expressions.map((each) => this.source(each)),
      );
  }

  /** A message with a value `n === 1 ? "one" : "many"`: both forms, the number, and the other values. */
  plural(id, values) {
    const found = values.map(choiceOf);
    const first = found.find(Boolean);
    if (!first || !/\p{L}/u.test(id.replace(/\{\d\}/g, "") + first.one + first.many)) return undefined;
    const forms = ["one", "many"].map((form) =>
      id.replace(/\{(\d)\}/g, (mark, at) =>
        found[at] &&
        this.code.slice(found[at].number.start, found[at].number.end) ===
          this.code.slice(first.number.start, first.number.end)
          ? found[at][form]
          : mark,
      ),
    );
    return {
      forms,
      number: this.source(first.number),
      args: values.map((value, at) => (found[at] ? "0" : this.source(value))),
      at: values[0].start,
    };
  }

  pluralCall({ forms: [one, many], number, args, at }) {
    this.messages.push({ id: one, plural: many, at });
    this.used.add("plural");
    return `${NAMES.plural}(${[number, JSON.stringify(one), JSON.stringify(many), ...args].join(", ")})`;
  }

  replace(node, id, args) {
    const [head, body, tail] = id.match(/^(\s*)([\s\S]*?)(\s*)$/).slice(1);
    this.messages.push({ id: body, at: node.start });
    this.used.add("text");
    const call = `${NAMES.text}(${[JSON.stringify(body), ...args].join(", ")})`;
    const around = [head && JSON.stringify(head), call, tail && JSON.stringify(tail)].filter(Boolean).join(" + ");
    this.text.update(node.start, node.end, around === call ? call : `(${around})`);
  }

  /** True if a string reads as words: a sentence, a capitalized name, or words with a space between. */
  isProse(text) {
    const words = text.trim();
    if (!/\p{L}{2}/u.test(words) || CODE_WORDS.test(words) || CODE.test(words)) return false;
    if (/[<>=\\|#*^$[\]@~]|::|\w[:/]\/|\(\)|--|\w\.\w|_\w|^\W*[\w-]+:\s*[\w-]+;?$|^[.:]\w/.test(words)) return false;
    if (this.isClass(words)) return false;
    if (words.split(/\s+/).every((word) => this.isClass(word) || !/\p{L}/u.test(word))) return false;
    return (
      /^\p{Lu}\p{Ll}/u.test(words) ||
      /\p{L}.*\s.*\p{L}|\p{L}[.!?…]$/su.test(words) ||
      (/\s/.test(text) && /\p{L}{3}/u.test(words))
    );
  }
}

const isLiteral = (node) => node.type === "Literal" || node.type === "TemplateLiteral";
const isCodeProperty = (key) => CODE_PROPERTIES.has(key.name ?? key.value);
const isSpace = (child) =>
  child.type === "JSXExpressionContainer" &&
  child.expression.type === "Literal" &&
  /^\s+$/.test(child.expression.value);

const isOutside = (child) =>
  child.type !== "JSXText" &&
  (child.type !== "JSXExpressionContainer" ||
    child.expression.type === "JSXEmptyExpression" ||
    (/^(Logical|Conditional)/.test(child.expression.type) && !choiceOf(child.expression)));

/** JSX text as JSX treats it: joins lines by a space, without their indentation and empty lines. */
function cleaned(text) {
  const lines = text.split("\n");
  const kept = lines.map((line, at) => {
    const begun = at === 0 ? line : line.trimStart();
    return at === lines.length - 1 ? begun : begun.trimEnd();
  });
  return kept
    .filter((line) => line !== "")
    .join(" ")
    .replaceAll("&nbsp;", "\u00a0")
    .replaceAll("&amp;", "&");
}

/** Returns the number that `n === 1 ? …` tests. */
function numberOf(node) {
  if (node?.type !== "ConditionalExpression" || node.test.type !== "BinaryExpression") return undefined;
  const { left, operator, right } = node.test;
  if (right.value !== 1 || !["===", "!==", ">"].includes(operator)) return undefined;
  return left;
}

const branches = ({ test, consequent, alternate }) =>
  test.operator === "===" ? [consequent, alternate] : [alternate, consequent];

function choiceOf(node) {
  const number = numberOf(node);
  const [one, many] = number ? branches(node) : [];
  if (typeof one?.value !== "string" || typeof many?.value !== "string") return undefined;
  return { number, one: one.value, many: many.value };
}

/** The message of a template or a string. */
const idOf = (node) =>
  node.quasis
    ? node.quasis.map(({ value }) => value.cooked).reduce((text, piece, at) => `${text}{${at - 1}}${piece}`)
    : node.value;

/** Returns our source files with one of these extensions. */
export async function filesOf(...endings) {
  const names = await readdir(SOURCES, { recursive: true });
  return names
    .filter((name) => endings.includes(name.split(".").at(-1)))
    .sort()
    .map((name) => resolve(SOURCES, name));
}

/** Runs `make` once for all files, in parallel: each waits for the complete result, or builds would differ. */
const once = (make) => {
  let made;
  return () => (made ??= make());
};

/** The class names in our style sheets: such strings are not words. */
const classNames = once(async () => {
  const classes = new Set(["row", "column"]);
  for (const path of await filesOf("css"))
    for (const [, name] of (await readFile(path, "utf8")).matchAll(/\.([a-zA-Z][\w-]*)/g)) classes.add(name);
  return classes;
});

/** The strings that code compares with: unless they begin with a capital, they are not words. */
const comparedStrings = once(async () => {
  const compared = new Set();
  for (const path of await filesOf("ts", "tsx"))
    for (const [, one, two] of (await readFile(path, "utf8")).matchAll(
      /(?:[!=]==|\bcase) "([^"A-Z][^"]*)"|"([^"A-Z][^"]*)" [!=]==/g,
    ))
      compared.add(one ?? two);
  return compared;
});

/** Returns a file's code with its messages wrapped, and the messages. */
export async function translated(path) {
  const code = await readFile(path, "utf8");
  const known = new Set([...(await classNames()), ...(await comparedStrings())]);
  const finder = new Finder(code, (word) => known.has(word));
  finder.visit(parseAst(code, { lang: path.endsWith("x") ? "tsx" : "ts" }));
  const names = [...finder.used].map((what) => `${what} as ${NAMES[what]}`);
  if (names.length)
    finder.text.prepend(`import { ${names.join(", ")} } from ${JSON.stringify(resolve(SOURCES, "translation"))};`);
  return { code: finder.text.toString(), messages: finder.messages };
}

/** True if a file, relative to the sources' folder, may have messages. */
export const isTranslated = (file) =>
  !/^\.\.|^state\/|\.(gen|d)\.ts$|^translation\.ts$/.test(file) && !CODE_FILES.test(file);

/** esbuild's plug-in: wraps the messages of our own files. */
export const translation = {
  name: "translation",
  setup(context) {
    context.onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
      const file = relative(SOURCES, path);
      if (file === "view/kernel-text.ts")
        return { contents: 'export { kernelText } from "../translation";', loader: "ts" };
      if (!isTranslated(file)) return undefined;
      const { code } = await translated(path);
      return { contents: code, loader: path.endsWith("x") ? "tsx" : "ts" };
    });
  },
};
