/** Languages whose comments begin with `#`, by one small grammar each; see `curly` for why. */
import type { HLJSApi, Language, Mode } from "highlight.js";

type Grammar = (hljs: HLJSApi) => Language;

const WORDS: Record<string, [aliases: string[], keywords: string, builtIns: string]> = {
  bash: [
    ["sh", "shell", "zsh", "console", "shellsession"],
    "if then else elif fi for while until in do done case esac function select return break continue export local readonly set unset source",
    "alias awk cat cd chmod chown conda cp curl cut docker echo eval exec exit find git grep head jupyter kill less ls make mkdir mv node npm npx pip printf pwd python read rm sed sort ssh sudo tail tar test touch trap uniq uv wc wget xargs",
  ],
  r: [
    [],
    "if else repeat while function for in next break TRUE FALSE NULL NA NaN Inf library require return",
    "c data.frame lapply sapply vapply list matrix mean median paste paste0 plot print read.csv rep seq summary tibble",
  ],
  julia: [
    ["jl"],
    "abstract baremodule begin break const continue do else elseif end export false finally for function global if import in isa let local macro module mutable primitive quote return struct true try type using where while",
    "Any Array Bool Char Dict Float64 Int Int64 Matrix Nothing Number String Vector println",
  ],
  dockerfile: [
    ["docker"],
    "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN SHELL STOPSIGNAL USER VOLUME WORKDIR AS",
    "",
  ],
};

export const hash: Record<string, Grammar> = Object.fromEntries(
  Object.entries(WORDS).map(([name, [aliases, keywords, builtIns]]) => [
    name,
    (hljs: HLJSApi): Language => {
      const variable: Mode = { scope: "variable", begin: /\$(?:\w+|\{[^}\n]*\}|[@#?*!-])/ };
      const quoted: Mode = { scope: "string", begin: '"', end: '"', contains: [hljs.BACKSLASH_ESCAPE, variable] };
      return {
        name,
        aliases,
        keywords: { $pattern: /[A-Za-z][\w.]*/, keyword: keywords, built_in: builtIns },
        contains: [
          { scope: "comment", begin: /(?<=^|[\s;])#/, end: "$" },
          quoted,
          { scope: "string", begin: "'", end: "'" },
          variable,
          { scope: "attr", begin: /(?<=\s)--?[A-Za-z][\w-]*/ },
          { scope: "number", begin: /(?<![\w.-])\d+(?:\.\d+)?(?:e[+-]?\d+)?\b/i },
        ],
      };
    },
  ]),
);
