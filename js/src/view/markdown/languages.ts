/**
 * The languages that code is coloured in: for each its names, its words, and what its comments, strings and other marks
 * look like. One line each is enough to read code by; full grammars weigh thirty times as much.
 */

export type Rule = readonly [scope: string, pattern: string];

export interface Language {
  /** What is looked for, in order; the first that fits at a place wins. */
  rules: readonly Rule[];
  keywords: string;
  builtIns: string;
  /** Whether words are the same in capitals. */
  anyCase?: boolean;
}

const NUMBER: Rule = [
  "number",
  "(?<![\\w.])(?:0[xXbBoO][\\da-fA-F_]+n?|(?:\\d[\\d_]*(?:\\.[\\d_]*)?|\\.\\d[\\d_]*)(?:[eE][+-]?\\d+)?[a-zA-Z%]{0,3})",
];
const DOUBLE: Rule = ["string", '"(?:\\\\[^]|[^"\\\\\\n])*"?'];
const SINGLE: Rule = ["string", "'(?:\\\\[^]|[^'\\\\\\n])*'?"];
const LITERAL: Rule = ["string", "'[^']*'?"];
const HASH: Rule = ["comment", "#.*"];
const SLASHES: Rule = ["comment", "\\/\\/.*|\\/\\*[^]*?(?:\\*\\/|$)"];
const META: Rule = ["meta", "@[A-Za-z_][\\w.]*"];

/** Words of TypeScript and of C's relatives. */
const CURLY =
  "abstract as async await break case catch class const continue default delete do else enum export extends false finally for function if implements import in instanceof interface is let namespace new null override private protected public return static super switch this throw true try type var while yield";

const TS: Language = {
  rules: [SLASHES, DOUBLE, SINGLE, ["template", "`(?:\\\\[^]|[^`\\\\])*`?"], META, NUMBER],
  keywords: `${CURLY} any constructor debugger declare from get keyof of readonly satisfies set typeof undefined void with`,
  builtIns:
    "Array BigInt Boolean Date Error JSON Map Math Number Object Promise Record RegExp Set String Symbol boolean console document never number object string unknown window",
};

const C: Language = {
  rules: [
    SLASHES,
    ["meta", "#\\s*!?(?:[a-z]+|\\[)|@[A-Za-z]\\w*"],
    DOUBLE,
    ["string", "'(?:\\\\.[^']*|[^'\\\\\\n])'"],
    ["string", "`[^`]*`?"],
    NUMBER,
  ],
  keywords: `${CURLY} assert auto chan constexpr crate data def defer dyn explicit extern final fn fun func go goto impl inline internal loop match mod move mut nil nullptr object open operator package pub range select self Self signed sizeof struct template throws trait typedef typename union unsafe unsigned use using val virtual when where`,
  builtIns:
    "Any Boolean Box Double Err Int Integer List Long Map None Object Ok Option Result Set Some Str String Unit Vec append bool boolean byte cap char double error f32 f64 float float64 i32 i64 int int64 int64_t len long make rune short size_t std str string u8 u32 u64 uint8_t usize vector void",
};

const SHELL: Language = {
  rules: [
    ["comment", "(?<=^|[\\s;])#.*"],
    ["template", '"(?:\\\\[^]|[^"\\\\])*"?'],
    LITERAL,
    ["variable", "\\$(?:\\w+|\\{[^}\\n]*\\}|[@#?*!-])"],
    ["attr", "(?<=\\s)--?[A-Za-z][\\w-]*"],
    NUMBER,
  ],
  keywords:
    "if then else elif fi for while until in do done case esac function select return break continue export local readonly set unset source",
  builtIns:
    "alias awk cat cd chmod chown conda cp curl cut docker echo eval exec exit find git grep head jupyter kill less ls make mkdir mv node npm npx pip printf pwd python read rm sed sort ssh sudo tail tar test touch trap uniq uv wc wget xargs",
};

const PYTHON: Language = {
  rules: [
    HASH,
    [
      "template",
      "\\b[rRbB]?[fF][rR]?(?:\"\"\"[^]*?(?:\"\"\"|$)|'''[^]*?(?:'''|$)|\"(?:\\\\[^]|[^\"\\\\\\n])*\"?|'(?:\\\\[^]|[^'\\\\\\n])*'?)",
    ],
    ["string", "\\b[rRbBuU]{0,2}(?:\"\"\"[^]*?(?:\"\"\"|$)|'''[^]*?(?:'''|$))"],
    ["string", "(?:\\b[rRbBuU]{1,2})?(?:\"(?:\\\\[^]|[^\"\\\\\\n])*\"?|'(?:\\\\[^]|[^'\\\\\\n])*'?)"],
    ["meta", "^[ \\t]*(?:@[A-Za-z_][\\w.]*|%{1,2}\\w+|!|>>>|\\.\\.\\.(?= ))"],
    NUMBER,
  ],
  keywords:
    "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try type while with yield True False None",
  builtIns:
    "abs all any bool bytes callable chr classmethod dict dir divmod enumerate eval exec filter float format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len list locals map max min next object oct open ord pow print property range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip self cls Exception KeyError TypeError ValueError IndexError RuntimeError",
};

const SQL: Language = {
  rules: [["comment", "--.*|\\/\\*[^]*?(?:\\*\\/|$)"], LITERAL, ["", '"[^"]*"?'], ["variable", "[@:]\\w+"], NUMBER],
  anyCase: true,
  keywords:
    "add all alter and any as asc begin between by case cast check column commit create cross cte current database default delete desc distinct drop else end except exists explain false filter first for foreign from full group having if ilike in index inner insert intersect into is join key last lateral left like limit natural not null offset on or order outer over partition primary qualify recursive references replace returning right rollback row rows select set table then to true truncate union unique update using values view when where window with within",
  builtIns:
    "array bigint binary blob boolean char date datetime decimal double float int integer interval json jsonb numeric real serial smallint text time timestamp uuid varchar",
};

const R: Language = {
  rules: [HASH, DOUBLE, SINGLE, NUMBER],
  keywords: "if else repeat while function for in next break TRUE FALSE NULL NA NaN Inf library require return",
  builtIns:
    "c data.frame lapply sapply vapply list matrix mean median paste paste0 plot print read.csv rep seq summary tibble",
};

const JULIA: Language = {
  rules: [
    ["comment", "#=[^]*?(?:=#|$)|#.*"],
    ["string", '"""[^]*?(?:"""|$)'],
    DOUBLE,
    ["string", "'(?:\\\\.|[^'\\\\\\n])'"],
    META,
    NUMBER,
  ],
  keywords:
    "abstract baremodule begin break const continue do else elseif end export false finally for function global if import in isa let local macro module mutable primitive quote return struct true try type using where while",
  builtIns: "Any Array Bool Char Dict Float64 Int Int64 Matrix Nothing Number String Vector println",
};

const DATA = { keywords: "true false null", builtIns: "" };
const JSONS: Language = {
  ...DATA,
  rules: [SLASHES, ["attr", '"(?:\\\\.|[^"\\\\\\n])*"(?=\\s*:)'], DOUBLE, NUMBER],
};
const YAML: Language = {
  keywords: "true false null yes no on off True False",
  builtIns: "",
  rules: [
    ["comment", "(?<=^|\\s)#.*"],
    ["attr", "^[ \\t]*(?:- +)*[\\w.\"'/-]+(?=\\s*:(?:\\s|$))"],
    DOUBLE,
    LITERAL,
    ["meta", "^---.*|[&*!][A-Za-z]\\w*"],
    ["bullet", "^[ \\t]*-(?=\\s)"],
    NUMBER,
  ],
};
const INI: Language = {
  keywords: "true false on off yes no",
  builtIns: "",
  rules: [
    ["comment", "[#;].*"],
    ["section", "^[ \\t]*\\[[^\\n]*\\]"],
    ["attr", "^[ \\t]*[\\w.\"'-]+(?=\\s*=)"],
    ["string", "\"\"\"[^]*?(?:\"\"\"|$)|'''[^]*?(?:'''|$)"],
    DOUBLE,
    LITERAL,
    ["number", "\\b\\d{4}-\\d\\d-\\d\\d[T\\d:.Z+-]*"],
    NUMBER,
  ],
};
const XML: Language = {
  keywords: "",
  builtIns: "",
  rules: [
    ["comment", "<!--[^]*?(?:-->|$)"],
    ["meta", "<[!?][^>]*>?"],
    ["tag", "<\\/?[A-Za-z][\\w:.-]*|\\/?>"],
    ["attr", "[A-Za-z_:@][\\w:.-]*(?=\\s*=\\s*[\"'])"],
    ["string", "(?<==\\s*)(?:\"[^\"<]*\"?|'[^'<]*'?)"],
    ["symbol", "&#?\\w+;"],
  ],
};
const DIFF: Language = {
  keywords: "",
  builtIns: "",
  rules: [
    ["meta", "^(?:@@.*|diff .*|index .*|\\+\\+\\+ .*|--- .*)"],
    ["addition", "^\\+.*"],
    ["deletion", "^-.*"],
  ],
};
const CSS: Language = {
  keywords: "",
  builtIns: "",
  rules: [
    ["comment", "\\/\\*[^]*?(?:\\*\\/|$)"],
    DOUBLE,
    SINGLE,
    ["meta", "@[\\w-]+"],
    ["attr", "[\\w-]+(?=\\s*:[^:{]*[;}\\n])"],
    ["number", "#[\\da-fA-F]{3,8}\\b"],
    NUMBER,
    ["title", "[.#][A-Za-z][\\w-]*"],
  ],
};

/** Languages by every name that a code block may give them. */
export const LANGUAGES = new Map<string, Language>(
  (
    [
      [PYTHON, "python py python3 ipython ipython3 pycon"],
      [TS, "typescript javascript js jsx mjs cjs ts tsx mts"],
      [C, "c h hpp cc c++ cpp cuda cu rust rs java kotlin kt scala csharp cs swift go golang php"],
      [SHELL, "bash sh shell zsh console shellsession fish makefile make dockerfile docker"],
      [SQL, "sql duckdb postgres postgresql sqlite mysql"],
      [R, "r"],
      [JULIA, "julia jl"],
      [JSONS, "json jsonc json5 ipynb"],
      [YAML, "yaml yml"],
      [INI, "ini toml cfg conf properties"],
      [XML, "xml html xhtml svg vue"],
      [DIFF, "diff patch"],
      [CSS, "css scss less"],
    ] as const
  ).flatMap(([language, names]) => names.split(" ").map((name) => [name, language] as const)),
);
