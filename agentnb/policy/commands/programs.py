"""How bad one program with its arguments can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.policy.commands import files, system, tools
from agentnb.policy.commands.code import rate_awk
from agentnb.policy.commands.git import rate_git
from agentnb.policy.commands.table import rate_by_table, rate_unknown
from agentnb.policy.severity import Finding, worst

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.policy.commands.options import Options

_LOOKS = frozenset(
    {
        "ls",
        "cat",
        "echo",
        "printf",
        "pwd",
        "cd",
        "true",
        "false",
        ":",
        "test",
        "[",
        "[[",
        "head",
        "tail",
        "wc",
        "sort",
        "uniq",
    }
    | {
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "cut",
        "tr",
        "diff",
        "cmp",
        "file",
        "stat",
        "du",
        "df",
        "date",
        "cal",
        "sleep",
    }
    | {
        "which",
        "type",
        "whereis",
        "whoami",
        "id",
        "uname",
        "hostname",
        "basename",
        "dirname",
        "realpath",
        "readlink",
        "seq",
    }
    | {
        "tree",
        "less",
        "more",
        "jq",
        "yq",
        "column",
        "comm",
        "paste",
        "join",
        "fold",
        "nl",
        "od",
        "xxd",
        "hexdump",
        "md5sum",
    }
    | {
        "sha256sum",
        "sha1sum",
        "cksum",
        "ps",
        "top",
        "uptime",
        "free",
        "find",
        "fd",
        "exit",
        "return",
        "break",
        "continue",
    }
    | {
        "shift",
        "read",
        "wait",
        "jobs",
        "let",
        "expr",
        "bc",
        "base64",
        "rev",
        "tac",
        "dir",
        "time",
        "nohup",
        "timeout",
        "nice",
    }
    | {
        "env",
        "xargs",
        "command",
        "builtin",
        "exec",
        "eval",
        "unset",
        "umask",
        "hash",
        "getopts",
        "local",
        "trap",
        "awk",
    }
    | {"gawk", "mawk", "sed", "strings", "locale", "tput", "clear", "man", "help", "popd", "pushd", "dirs", "watch"}
)
_UNKNOWN = ", which agentnb does not know."
_EDITORS = frozenset({"vi", "vim", "nvim", "ex", "view", "emacs", "ed", "nano"})


def _awk(options: Options) -> Finding | None:
    return rate_awk(options)


def _source(_: Options) -> Finding:
    return Finding("medium", "Runs a file's commands in this shell.")


def _editor(options: Options) -> Finding:
    if any("!" in word or "system" in word for word in options.words):
        return Finding("high", "Makes an editor run commands.")
    return Finding("medium", "Edits files.")


_RATERS: dict[str, Callable[[Options], Finding | None]] = {
    **files.RATERS,
    **system.RATERS,
    **tools.RATERS,
    "git": rate_git,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    **dict.fromkeys(("source", "."), _source),
    **dict.fromkeys(_EDITORS, _editor),
}


def rate_program(program: str, options: Options) -> Finding | None:
    """What is to be said of *program* with *options*; None where it only looks."""
    return worst(filter(None, (rate_by_table(program, options), _rated_by_code(program, options))))


def _rated_by_code(program: str, options: Options) -> Finding | None:
    """What a function knows about *program*, where rows of a table could not say it."""
    line = " ".join((program, *options.words))
    if (found := tools.gives_trust(line) or tools.shows_key(line)) is not None:
        return found
    rater = _RATERS.get(program)
    if rater is not None:
        return rater(options)
    found = files.prefixed(program)
    if found is not None or program in _LOOKS:
        return found
    return rate_unknown(program, options) or Finding("low", f"Runs {program}{_UNKNOWN}")


def is_read(program: str) -> bool:
    """Whether the arguments of *program* are read here, so that no other command is looked for in them."""
    return program in _RATERS or program in _LOOKS or files.prefixed(program) is not None
