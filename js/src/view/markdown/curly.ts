/**
 * Languages with curly braces, by one small grammar each: strings, comments, numbers, keywords, names.
 *
 * highlight.js' own grammars for these know more and weigh ten times as much; the bundle has a limit.
 */
import type { HLJSApi, Language, Mode } from "highlight.js";

type Grammar = (hljs: HLJSApi) => Language;

const SHARED =
  "break case catch class const continue default do else enum false finally for if new null return static switch this throw true try while";
const WORDS: Record<string, [aliases: string[], keywords: string, types: string]> = {
  typescript: [
    ["javascript", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts"],
    "abstract any as async await constructor debugger declare delete export extends from function get implements import in instanceof interface is keyof let namespace of override private protected public readonly satisfies set super type typeof undefined var void with yield",
    "Array BigInt Boolean Date Error JSON Map Math Number Object Promise Record Reflect RegExp Set String Symbol WeakMap boolean console document never number object string unknown window",
  ],
  rust: [
    ["rs"],
    "as async await crate dyn extern fn impl in let loop match mod move mut pub ref self Self struct super trait type union unsafe use where",
    "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize Box Err None Ok Option Result Some String Vec",
  ],
  cpp: [
    ["c", "h", "hpp", "cc", "c++", "cuda", "cu"],
    "auto constexpr delete explicit extern final friend goto inline namespace noexcept nullptr operator override private protected public register sizeof struct template typedef typename union using virtual volatile",
    "bool char double float int int32_t int64_t long short signed size_t std string uint8_t uint32_t uint64_t unsigned vector void",
  ],
  java: [
    ["kotlin", "kt", "scala", "csharp", "cs", "swift"],
    "abstract as assert async await data def extends final fun func implements import in instanceof interface internal is let namespace object open override package private protected public record sealed struct super suspend synchronized throws trait using val var volatile when where yield",
    "Any Boolean Double Int Integer List Long Map Object Set String Unit boolean byte char double float int long short string void",
  ],
  go: [
    ["golang"],
    "chan defer fallthrough func go goto import interface map package range select struct type var nil iota make append len cap",
    "any bool byte error float32 float64 int int32 int64 rune string uint uint64",
  ],
};

export const curly: Record<string, Grammar> = Object.fromEntries(
  Object.entries(WORDS).map(([name, [aliases, keywords, types]]) => [
    name,
    (hljs: HLJSApi): Language => {
      const words = { keyword: `${SHARED} ${keywords}`, built_in: types };
      const inside: Mode = { scope: "subst", begin: /\$\{/, end: /\}/, keywords: words, contains: [] };
      const template: Mode = { scope: "string", begin: "`", end: "`", contains: [hljs.BACKSLASH_ESCAPE, inside] };
      inside.contains = [hljs.QUOTE_STRING_MODE, hljs.APOS_STRING_MODE, template, hljs.C_NUMBER_MODE];
      return {
        name,
        aliases,
        keywords: words,
        contains: [
          hljs.C_LINE_COMMENT_MODE,
          hljs.C_BLOCK_COMMENT_MODE,
          hljs.QUOTE_STRING_MODE,
          { scope: "string", begin: /'(?=(?:\\.|[^'\\\n])*')/, end: /'/, contains: [hljs.BACKSLASH_ESCAPE] },
          template,
          { scope: "meta", begin: /^\s*#\s*[a-z]+|^\s*#!?\[|@[A-Za-z]\w*/ },
          hljs.C_NUMBER_MODE,
          {
            begin: [/\b(?:function|fn|func|fun|def)\b/, /\s+/, /[A-Za-z_$][\w$]*/],
            beginScope: { 1: "keyword", 3: "title.function" },
          },
          {
            begin: [/\b(?:class|struct|interface|trait|enum)\b/, /\s+/, /[A-Za-z_$][\w$]*/],
            beginScope: { 1: "keyword", 3: "title.class" },
          },
          {
            scope: "title.function",
            begin: /\b(?!if\b|for\b|while\b|switch\b|catch\b|match\b|return\b)[a-z_$][\w$]*(?=\()/,
          },
        ],
      };
    },
  ]),
);
