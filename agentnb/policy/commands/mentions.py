"""Which files a command's words name, however they are glued to options, hosts and quotes."""

from __future__ import annotations

import fnmatch
import re

from agentnb.policy.commands.table import programs_of
from agentnb.policy.glob import LONGEST_PATTERN
from agentnb.policy.sensitive import holds_secrets

_EXAMPLES = (".env", ".netrc", ".npmrc", ".pypirc", ".ssh", ".aws", ".git-credentials", ".bash_history", "id_rsa")
_OF_SED = re.compile(r"(?:^|[;{}/\d$])\s*[wWrR]\s+(\S+)")
_QUOTED = re.compile(r"""['"`]([^'"`\s]{2,300})['"`]""")


def writes_files(program: str) -> bool:
    """Whether what *program* names may be what it writes."""
    return program in programs_of("writers")


def named(word: str) -> list[str]:
    """The paths that may stand in *word*."""
    found = [word[2:] if re.match(r"-[A-Za-z]", word) else word]
    found += [word.rpartition(sign)[2] for sign in "@:" if sign in word]
    found += [word.partition("=")[2], *_OF_SED.findall(word)]
    return [path for path in dict.fromkeys(found) if path and " " not in path.strip()]


def secret(path: str) -> bool:
    """Whether *path*, or what is below it, or what it may match as a pattern, holds secrets."""
    if holds_secrets(path) or holds_secrets(f"{path.rstrip('/')}/x"):
        return True
    name = path.rstrip("/").rpartition("/")[2]
    if not re.search(r"[*?\[]", name) or not re.search(r"[.\w]", name.partition("*")[0]):
        return False
    return len(name) > LONGEST_PATTERN or any(fnmatch.fnmatchcase(example, name) for example in _EXAMPLES)


def quoted(code: str) -> list[str]:
    """What stands between quotes in *code*, in whatever language."""
    return _QUOTED.findall(code)
