/** SQL's colours in a few lines: highlight.js' own grammar weighs as much as five other languages. */
import type { HLJSApi, Language } from "highlight.js";

const KEYWORDS =
  "add all alter and any as asc begin between by case cast check column commit constraint create cross cte current " +
  "database default delete desc distinct drop else end except exists explain false fetch filter first following for " +
  "foreign from full function grant group having if ilike in index inner insert intersect into is join key last " +
  "lateral left like limit materialized natural not null offset on or order outer over partition preceding primary " +
  "qualify range recursive references replace returning revoke right rollback row rows select set table temp then to " +
  "trigger true truncate unbounded union unique update using values view when where window with within";
const TYPES =
  "array bigint binary blob boolean char date datetime decimal double float int integer interval json jsonb numeric " +
  "real serial smallint text time timestamp uuid varchar";

export default function sql(hljs: HLJSApi): Language {
  return {
    name: "SQL",
    case_insensitive: true,
    aliases: ["duckdb", "postgres", "postgresql", "sqlite", "mysql"],
    keywords: { keyword: KEYWORDS, type: TYPES },
    contains: [
      { scope: "string", begin: "'", end: "'", contains: [{ begin: "''" }] },
      { begin: '"', end: '"' },
      { scope: "built_in", begin: /\b[a-z_]\w*(?=\s*\()/i, keywords: { keyword: KEYWORDS, type: TYPES } },
      { scope: "variable", begin: /[@:]\w+/ },
      hljs.C_NUMBER_MODE,
      hljs.COMMENT("--", "$"),
      hljs.C_BLOCK_COMMENT_MODE,
    ],
  };
}
