"""Writes `docs/reference/policy-cases.md`, what the engine says of every policy case, and the keys in `policy.md`.

`--check` says if they are stale.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentnb.policy.keys import Key
    from agentnb.policy.request import PolicyRequest, Situation, Verdict

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "policy-cases.md"
REFERENCE = ROOT / "docs" / "reference" / "policy.md"
KEYS = ("<!-- keys: written by scripts/gen_policy_cases.py from agentnb/policy/keys.py -->\n", "<!-- /keys -->\n")
CASES = ROOT / "tests" / "cases" / "policy"
WORKSPACE = "/w"
AGENT = "claude"
ALLOWS = {"mode": "allow"}
RULES = {"user": [{"action": "allow"}, {"action": "deny", "command": ["rm *"]}], "trusted": True}

HEAD = """\
# Policy cases

<!-- Written by scripts/gen_policy_cases.py from tests/cases/policy: change those, then run `make types`. -->

What the [policy](policy.md) says of every case that the tests hold it to: {count} of them. The workspace is `/w`.
*Asked* is where somebody can be asked; where nobody can, those are denied. Characters that nobody sees are written out
(⟨U+200B⟩), ⏎ is a new line.
"""
REQUESTS = """\
## Requests, modes, rules and trust

What holds: the session's mode (`ask` where none stands), whether anybody is there, the rules in force, whether the
workspace is trusted.
"""
COMMANDS = """\
## Commands

In a session that allows: what is still asked, a floor holds.
"""
ATTACKS = """\
## Attacks

Commands that hide what they do, in the same session.
"""
DANGEROUS = """\
## Dangerous commands

In the same session: each of them asks.
"""
EVERYDAY = """\
## Everyday commands

In the same session: none of them asks.
"""
DISGUISED = """\
## Disguises

Where a rule allows everything and another one denies `rm *`: none of them is allowed, because each is
`rm`, or could be.
"""
FILES = """\
## Files

Read and written in a session that allows; paths as an agent may write them, taken to be in the workspace.
"""


def page() -> str:
    """The whole page."""
    requests, commands, attacks, files = (rows(name) for name in ("requests", "commands", "attacks", "files"))
    dangerous, everyday, disguised = (lines(name) for name in ("dangerous", "everyday", "disguised"))
    count = sum(map(len, (requests, commands, attacks, files, dangerous, everyday, disguised)))
    verdicts = [(row, judged(row)) for row in requests]
    sections = [
        HEAD.format(count=count),
        REQUESTS,
        *_grouped(
            verdicts,
            ("kind", "what", "what holds", "severity", "reason"),
            lambda row, verdict: (_text(row["kind"]), _what(row), _holds(row), verdict.severity, _reason(verdict)),
            by_severity=False,
        ),
        COMMANDS,
        *_commands(commands),
        ATTACKS,
        *_commands(attacks),
        DANGEROUS,
        *_commands(dangerous),
        EVERYDAY,
        *_commands(everyday),
        DISGUISED,
        *_commands(disguised, RULES),
        FILES,
        *_files(files),
    ]
    return "\n".join(sections)


def reference_page() -> str:
    """The page of reference, with the tables of keys as they are now."""
    before, rest = REFERENCE.read_text(encoding="utf-8").split(KEYS[0])
    after = rest.split(KEYS[1])[1]
    return f"{before}{KEYS[0]}\n{key_tables()}\n\n{KEYS[1]}{after}"


def key_tables() -> str:
    """The tables of all keys."""
    from agentnb.policy.keys import FILE_KEYS, RULE_KEYS

    lines = ["| key of a file | is | says |", "|---|---|---|"]
    lines += [f"| `{key.name}` | {_values(key)} | {key.about} |" for key in FILE_KEYS]
    lines += ["", "| key of a rule | is | matches |", "|---|---|---|"]
    lines += [f"| `{key.name}` | {_values(key)} | {key.about} |" for key in RULE_KEYS]
    return "\n".join(lines)


def _values(key: Key) -> str:
    if key.values:
        return key.values
    if key.kind == "texts":
        return " ".join(f"`{each}`" for each in key.choices)
    return ", ".join(f'`"{each}"`' for each in key.choices)


def rows(name: str) -> list[dict[str, Any]]:
    """The cases of one file."""
    cases: list[dict[str, Any]] = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    return cases


def lines(name: str) -> list[dict[str, Any]]:
    """The commands of one file that holds nothing else, as rows."""
    commands: list[str] = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    return [{"command": command} for command in commands]


def request_and_situation(row: dict[str, Any]) -> tuple[PolicyRequest, Situation]:
    """The request and the situation that a row of `requests.json` is about."""
    import msgspec

    from agentnb.policy.request import PolicyRequest, Situation
    from agentnb.policy.rules import AccessRule, InForce
    from agentnb.policy.settings import PolicySettings

    def rules(source: Any) -> tuple[InForce, ...]:
        return tuple(InForce(msgspec.convert(fields, AccessRule), source) for fields in row.get(source, ()))

    path = row.get("path")
    request = PolicyRequest(
        kind=row["kind"],
        title="x",
        path=path,
        command=row.get("command"),
        asked=row.get("asked"),
        paths=(path,) if path and row["kind"] in {"permission", "move"} else (),
        vague=row.get("vague", False),
    )
    user = PolicySettings(
        rules=rules("user"),
        bypass=frozenset({AGENT} if row.get("bypass") else ()),
        headless=row.get("file", "deny"),
        problem="line 3" if row.get("problem") else None,
    )
    situation = Situation(
        agent=AGENT,
        mode=row.get("mode", "ask"),
        attached=row.get("attached", True),
        root=PurePosixPath(WORKSPACE),
        user=user,
        project=PolicySettings(rules=rules("project")),
        grants=rules("session"),
        headless=row.get("headless"),
        trusted=row.get("trusted", False),
    )
    return request, situation


def judged(row: dict[str, Any]) -> Verdict:
    """What the engine says of a row of `requests.json`."""
    from agentnb.policy.engine import judge

    return judge(*request_and_situation(row))


# --- tables ---


def _commands(cases: list[dict[str, Any]], rules: dict[str, Any] = ALLOWS) -> Iterator[str]:
    verdicts = [(row, judged({"kind": "terminal", "command": row["command"], **rules})) for row in cases]
    yield from _grouped(
        verdicts,
        ("command", "why", "floor"),
        lambda row, verdict: (_code(row["command"]), _text(verdict.risk), verdict.floor or ""),
    )


def _files(cases: list[dict[str, Any]]) -> Iterator[str]:
    from agentnb.policy.sensitive import spelled

    def read_and_write(row: dict[str, Any]) -> tuple[Verdict, Verdict]:
        inside = PurePosixPath(WORKSPACE, spelled(row["path"]).lstrip("/")).as_posix()
        verdicts = [judged({"kind": kind, "path": inside, "mode": "allow"}) for kind in ("read", "write")]
        return verdicts[0], verdicts[1]

    both = [(row, *read_and_write(row)) for row in cases]
    reads = {row["path"]: read for row, read, _ in both}
    yield from _grouped(
        [(row, write) for row, _, write in both],
        ("file", "read", "why", "why written so"),
        lambda row, write: (
            _code(row["path"]),
            _OUTCOMES[reads[row["path"]].outcome].lower(),
            _text(reads[row["path"]].risk),
            _text(write.risk),
        ),
        verb="written: ",
    )


_OUTCOMES = {"allow": "Allowed", "ask": "Asked", "deny": "Denied"}


def _grouped(
    verdicts: Iterable[tuple[dict[str, Any], Verdict]],
    head: tuple[str, ...],
    cells: Any,
    *,
    by_severity: bool = True,
    verb: str = "",
) -> Iterator[str]:
    """A table for each outcome (and severity), the strictest first; in it the cases as the file has them."""
    from agentnb.policy.rules import STRICTNESS
    from agentnb.policy.severity import rank

    def place(each: tuple[dict[str, Any], Verdict]) -> tuple[int, int]:
        return -STRICTNESS[each[1].outcome], -rank(each[1].severity) if by_severity else 0

    for _, group in groupby(sorted(verdicts, key=place), place):
        cases = list(group)
        verdict = cases[0][1]
        severity = f", {verdict.severity}" if by_severity else ""
        outcome = f"{verb}{_OUTCOMES[verdict.outcome].lower()}".capitalize()
        yield f"### {outcome}{severity} ({len(cases)})\n"
        yield f"| {' | '.join(head)} |"
        yield f"|{'---|' * len(head)}"
        for row, each in cases:
            yield f"| {' | '.join(cells(row, each))} |"
        yield ""


def _what(row: dict[str, Any]) -> str:
    return _code(row.get("command") or row.get("path") or row["asked"])


def _holds(row: dict[str, Any]) -> str:
    _, situation = request_and_situation(row)
    rules = (*situation.user.rules, *situation.grants, *situation.project.rules)
    conditions = [
        f"mode {situation.mode}" if "mode" in row else "",
        "nobody there" if not situation.attached else "",
        "trusted" if situation.trusted else "",
        "bypass" if situation.user.bypass else "",
        f"headless {situation.user.headless} in the file" if "file" in row else "",
        f"headless {situation.headless} in the environment" if situation.headless else "",
        "a file that cannot be read" if situation.user.problem else "",
        *(f"{each.source}: {each.rule.text}" for each in rules),
    ]
    return _text("; ".join(word for word in conditions if word)) or "nothing"


def _reason(verdict: Verdict) -> str:
    return _text(verdict.reason)


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    """*text* that is text in Markdown, in a table's cell, in HTML, and no address."""
    from agentnb.ipython.markdown import html_text

    # The page must not depend on the number of this process.
    text = text.replace(f"/proc/{os.getpid()}/", "/proc/self/")
    seen = "".join(char if char.isprintable() else "⏎" if char == "\n" else f"⟨U+{ord(char):04X}⟩" for char in text)
    return html_text(seen).replace(":", "&#58;").replace("www.", "www&#46;")


if __name__ == "__main__":
    os.environ["HOME"] = "/home/you"  # the page must not depend on the user or the folder
    os.chdir("/")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # cases name /proc/self/fd/0
    sys.path.insert(0, str(ROOT))
    from scripts.generated import write_or_check

    sys.exit(write_or_check({PAGE: page(), REFERENCE: reference_page()}, __doc__))
