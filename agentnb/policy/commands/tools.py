"""Tools that can do more than their job: options that run another program, and words that show a key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.policy.severity import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.policy.commands.options import Options

_SSH_RUNS = re.compile(
    r"(?:-o)?(?:proxycommand|localcommand|permitlocalcommand|knownhostscommand|pkcs11provider"
    r"|match|include|remotecommand)\b",
    re.IGNORECASE,
)
_SHOWS = re.compile(
    r"gh auth token|(?:gcloud|az) (?:\S+ )*(?:auth|account) (?:\S+ )*(?:print-|get-)access-token|gcloud auth print-\S+"
    r"|aws (?:\S+ )*(?:configure (?:get|export-credentials)|secretsmanager get|sts get-session|ssm get-param)"
    r"|kubectl (?:\S+ )*(?:get|describe|edit) secrets?\b|kubectl (?:\S+ )*config view|pass (?!init|ls|insert)\w+"
    r"|security (?:find|dump|export)|gpg2? (?:\S+ )*--export-secret|git credential|op (?:read|item|document)"
    r"|vault (?:kv|read)"
    r"|(?:npm|pnpm|yarn) token|heroku auth:token|docker (?:\S+ )*secret|jupyter (?:server|notebook|lab) list"
    r"|jq .*\benv\b|git (?:\S+ )*config (?:\S+ )*(?:--get\S* |get )?\S*(?:extraheader|password|token|secret)\S*$"
    r"|ssh-keygen (?:\S+ )*-[yD]|keyring get|secret-tool|kwallet|lpass show|bw (?:get|list|export)",
    re.IGNORECASE,
)


def gives_trust(line: str) -> Finding | None:
    """What is to be said of a command by which an agent would free itself of questions."""
    words = line.lower().split()
    if words and words[0].startswith("python"):
        at = next((at for at, word in enumerate(words) if word.startswith("-m")), len(words))
        words = words[at + 1 :] if words[at : at + 1] == ["-m"] else [each.removeprefix("-m") for each in words[at:]]
    trusts = words[:1] == ["agentnb"] and "trust" in words and "--remove" not in words
    return Finding("critical", "Lets agents act in a folder without asking.") if trusts else None


def shows_key(line: str) -> Finding | None:
    """What is to be said of a command whose output is a credential."""
    return Finding("high", "Shows a credential.") if _SHOWS.match(line) else None


def _ssh(options: Options) -> Finding:
    if any(_SSH_RUNS.match(word) for word in options.words) or "F" in options.short:
        return Finding("high", "Makes ssh run a program of this machine.")
    return Finding("medium", "Works on another machine.")


def _make(options: Options) -> Finding:
    if any(re.match(r"(?:SHELL|\.SHELLFLAGS|MAKE|CC|CXX|LD)\s*[:+?]?=|--eval|-E", word) for word in options.words):
        return Finding("high", "Makes make run another program.")
    return Finding("low", "Runs what the Makefile says.")


def _pager(options: Options) -> Finding | None:
    if any(re.match(r"\+.*!|\+\||-P|--pager|-k$|-o|--lesskey", word) for word in options.words):
        return Finding("high", "Makes a pager run a program, or write a file.")
    return None


def _database(options: Options) -> Finding:
    """Database clients: options that run programs, and statements that delete."""
    line = " ".join(options.words)
    if re.search(
        r"\.(?:shell|system|load|import|output|once|excel)\b|\\!|(?:^|\s)(?:system|source)\s|\bcopy\b.*\bprogram\b",
        line,
        re.IGNORECASE,
    ):
        return Finding("high", "Makes a database client run programs, or write files.")
    if re.search(r"\b(?:drop|truncate|delete|alter|grant|revoke)\b", line, re.IGNORECASE):
        return Finding("high", "Changes or deletes data that cannot be brought back.")
    return Finding("medium", "Works in a database.")


def _runner(_: Options) -> Finding:
    return Finding("medium", "Loads a package from the network and runs it.")


def _opener(_: Options) -> Finding:
    return Finding("medium", "Lets another program open something.")


def _hash(options: Options) -> Finding | None:
    return Finding("high", "Makes a name mean another program.") if options.has("p") else None


def _enable(options: Options) -> Finding | None:
    return Finding("high", "Changes what the shell's own commands are.") if options.has("f", "n", "d") else None


def _powershell(options: Options) -> Finding:
    if any(re.match(r"[-/]e(?:c|nc?\w*)?$", word, re.IGNORECASE) for word in options.words):
        return Finding("high", "Runs what it decodes: what that is cannot be read here.")
    return Finding("medium", "Runs PowerShell.")


def _typeset(options: Options) -> Finding | None:
    if re.search(r"--shell-escape|-enable-write18|--lua", " ".join(options.words)):
        return Finding("high", "Lets a document run programs.")
    return Finding("low", "Typesets a document.")


RATERS: dict[str, Callable[[Options], Finding | None]] = {
    **dict.fromkeys(("ssh", "mosh", "rsh", "slogin", "autossh", "sshpass"), _ssh),
    **dict.fromkeys(("make", "gmake", "bmake", "ninja"), _make),
    **dict.fromkeys(("less", "more", "man", "most"), _pager),
    **dict.fromkeys(
        ("sqlite3", "sqlite", "psql", "mysql", "mariadb", "duckdb", "mongosh", "mongo", "redis-cli"), _database
    ),
    **dict.fromkeys(("npx", "bunx", "uvx", "pnpx"), _runner),
    **dict.fromkeys(("open", "xdg-open", "gio", "explorer", "rundll32"), _opener),
    "hash": _hash,
    "enable": _enable,
    **dict.fromkeys(("powershell", "pwsh"), _powershell),
    **dict.fromkeys(("pdftex", "pdflatex", "latex", "tex", "xelatex", "lualatex", "latexmk"), _typeset),
}
