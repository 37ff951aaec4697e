"""How bad one program with its arguments can be."""

from __future__ import annotations

import re

from agentnb.policy.commands import files
from agentnb.policy.commands.table import Options, is_in_table, rate_alone, rate_by_table, rate_unknown
from agentnb.policy.severity import Risk, worst

ADMIN = "The command asks for administrator rights."
SUPERUSER = frozenset({"sudo", "doas", "su", "pkexec", "gsudo", "runas", "run0", "sudoedit", "runuser"})
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


_SCRIPTS = {
    **dict.fromkeys(("python", "python2", "python3", "pypy", "pypy3"), "a Python script"),
    **dict.fromkeys(("node", "nodejs", "bun", "deno"), "a JavaScript program"),
    "rscript": "an R script",
    "Rscript": "an R script",
    "julia": "a Julia script",
}
"""What programs run, for people."""


def rate_program(program: str, options: Options) -> Risk | None:
    """The worst that the table or the code says of *program* with *options*; None where it only looks."""
    return worst(filter(None, (rate_by_table(program, options), _rated_alone(program, options))))


def _rated_alone(program: str, options: Options) -> Risk | None:
    """What is known of *program* by itself, from its cases in the table or a function where rows could not say it."""
    line = " ".join((program, *options.words))
    found = _gives_trust(line) or _shows_key(line) or rate_alone(program, options)
    if found is not None:
        return found
    if program in files.RATERS:
        return files.RATERS[program](options)
    if is_read(program):
        return files.prefixed(program)
    what = _SCRIPTS.get(program, program)
    return rate_unknown(program, options) or Risk("low", f"Runs {what}; its effects aren't known.")


def rate_statements(client: str, text: str | None) -> list[Risk]:
    """The effects of the statements *text* that a database's *client* is fed; None: they are not known."""
    if text is None:
        return [Risk("high", f"{client} runs its input without checking it.")]
    rated = (rate_program(client, Options.of(words)) for words in (("-c", text), tuple(text.split())))
    return [each for each in rated if each is not None]


def is_read(program: str) -> bool:
    """True if the arguments of *program* are read here, so that no other command is looked for in them."""
    return program in files.RATERS or is_in_table(program) or files.prefixed(program) is not None


def _gives_trust(line: str) -> Risk | None:
    """Returns what is to be said of a command by which an agent would free itself of questions."""
    words = line.lower().split()
    if words and words[0].startswith("python"):
        at = next((at for at, word in enumerate(words) if word.startswith("-m")), len(words))
        words = words[at + 1 :] if words[at : at + 1] == ["-m"] else [each.removeprefix("-m") for each in words[at:]]
    trusts = words[:1] == ["agentnb"] and "trust" in words and "--remove" not in words
    return Risk("critical", "Lets agents act in a folder without asking.") if trusts else None


def _shows_key(line: str) -> Risk | None:
    return Risk("high", "Shows a credential.") if _SHOWS.match(line) else None
