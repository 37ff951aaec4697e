"""Which files a command's words lead to, and whether it writes there; where that is, is for others to say."""

from __future__ import annotations

import fnmatch
import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from agentnb.policy.commands.code import INLINE
from agentnb.policy.commands.table import programs_of
from agentnb.policy.commands.wrappers import inner_commands
from agentnb.policy.glob import LONGEST_PATTERN
from agentnb.policy.sensitive import holds_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentnb.policy.shell.expand import Field


class NamedPath(NamedTuple):
    """A file that a command names."""

    path: str
    writes: bool = False
    through: tuple[str, ...] = ()
    sure: bool = True
    dynamic: bool = False
    lists: bool = False


_FILE_SHELLS = dict.fromkeys(("hdfs", "hadoop"), frozenset({"-ls", "-du", "-df", "-count", "-stat", "-test"}))
"""Programs whose first word is a file system's shell, and the commands of it that list."""

_PATTERN_OPTIONS = re.compile(r"--(?:regexp|expression|file|from-file)\b.*|-[a-zA-Z]*[ef].*")
_SEPARATED = frozenset({"awk", "gawk", "mawk", "nawk", "cut", "sort", "paste", "join", "column"})
_SEPARATOR = re.compile(r"(?:-[Fdts])?/")
_LAST = frozenset({"cp", "ln", "install", "rsync", "scp", "gcp"})
_CHANGES = {"sed": "-i", "sort": "-o", "find": "-delete", "perl": "-i", "ruby": "-i"}
_OUTPUT = re.compile(
    r"(?:-o|-O|-C|-t|-d|--(?:output|out|target|prefix|root|directory|dest|destination|outdir|output-dir|chdir)[\w-]*)"
)
_NAMES = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex"})
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_IN_CONTAINER = frozenset({"-w", "--workdir"})
_MOUNTS = frozenset({"-v", "--volume"})
_TEXT = {
    "git": frozenset({"-m", "--message"}),
    "find": _NAMES,
    "pytest": frozenset({"-k", "-m"}),
    **dict.fromkeys(_CONTAINERS, _IN_CONTAINER),
}
_OF_SED = re.compile(r"(?:^|[;{}/\d$])\s*[wW]\s+(\S+)")
_LEADS = ("/", "~", "../", "./", "$")


def places(program: str, arguments: Sequence[Field], *, computing: bool = False) -> Iterator[NamedPath]:
    """The files that *program* with *arguments* is led to."""
    if program in programs_of("speaking") and not computing:
        return
    words = [
        word for word in _own(program, arguments) if program not in _SEPARATED or not _SEPARATOR.fullmatch(word.text)
    ]
    writes = writes_files(program) and not only_reads(program, words)
    operands = [at for at, word in enumerate(words) if not word.text.startswith(("-", "+"))]
    pattern = _pattern(program, words, operands)
    code = INLINE.get(program) or INLINE.get(program.rstrip("0123456789.")) or ()
    for at, word in enumerate(words):
        before = words[at - 1].text if at else ""
        if program in _CONTAINERS and before in _MOUNTS:  # the machine's folder; behind the colon is the container's
            yield NamedPath(word.text.partition(":")[0], writes=True, dynamic=word.dynamic)
        elif at == pattern or before in _TEXT.get(program, ()):
            yield from _inside(program, word)
        elif before in code or (before.startswith("-") and code and before.endswith("c")):
            yield from (NamedPath(path, dynamic=word.dynamic) for path in quoted(word.text) if _is_path(path))
        else:
            last = program not in _LAST or operands[-1:] == [at] or "-t" in before
            changed = (writes and last) or _OUTPUT.fullmatch(before) is not None
            lists = _lists(program, words) and not changed
            yield from (place._replace(lists=lists) for place in _of(word, writes=changed))


def _lists(program: str, words: Sequence[Field]) -> bool:
    """True if *program* shows where files are, never what is in them: ``ls /data``, ``hdfs dfs -ls /data``."""
    return program in programs_of("listing") or (
        program in _FILE_SHELLS and len(words) > 1 and words[1].text in _FILE_SHELLS[program] and not words[1].dynamic
    )


def _own(program: str, arguments: Sequence[Field]) -> list[Field]:
    """The words of *program* itself, without those of the command that it runs."""
    words = list(arguments)
    for inner in inner_commands(program, arguments):
        if inner.words and program not in {"find", "fd"} and tuple(words[-len(inner.words) :]) == tuple(inner.words):
            words = words[: -len(inner.words)]
        elif inner.script:
            words = [word for word in words if word.text != inner.script]
    return words


def only_reads(program: str, words: Sequence[Field]) -> bool:
    """True if *program*, that can change the files it names, only reads them with the arguments *words*."""
    option = _CHANGES.get(program)
    return option is not None and not any(word.text.startswith(option) for word in words)


def _pattern(program: str, words: Sequence[Field], operands: Sequence[int]) -> int | None:
    if program not in programs_of("patterns"):
        return None
    for at, word in enumerate(words):
        if _PATTERN_OPTIONS.fullmatch(word.text):
            return at + 1 if "f" not in word.text.lstrip("-")[:1] else None
    return next((at for at in operands if not words[at].text.isdigit()), None)


def _inside(program: str, word: Field) -> Iterator[NamedPath]:
    """The files that a script of ``sed`` or ``awk`` names."""
    if program.endswith("sed"):
        yield from (NamedPath(path, writes=True) for path in _OF_SED.findall(word.text))
    elif program.endswith(("awk", "perl", "ruby")):
        yield from (NamedPath(path, writes=">" in word.text) for path in quoted(word.text) if _is_path(path))


def _of(word: Field, *, writes: bool) -> Iterator[NamedPath]:
    """The files that one argument may name, also glued to an option, a variable or an ``@``."""
    text = word.text
    if text.startswith("-"):
        name, _, value = text.partition("=")
        glued = "" if text.startswith("--") else text[2:]
        found = [value, glued if glued.startswith(_LEADS) or "." in glued or "/" in glued else ""]
        writes = writes or _OUTPUT.fullmatch(name if value else text[:2]) is not None
    else:
        found = [text, text.partition("=")[2], text[1:] if text.startswith("@") else text.partition("@")[2]]
        writes = (writes or text.startswith("of=")) and not text.startswith("if=")
    found += [part for part in text.split(":")[1:] if part.startswith(("/", "~", "../", "./"))]
    for path in dict.fromkeys(found):
        path = path.removeprefix("file://")  # noqa: PLW2901
        if path and "://" not in path and not path.startswith("//") and _plain(path):
            yield NamedPath(path, writes=writes, dynamic=word.dynamic)


def _is_path(text: str) -> bool:
    return "://" not in text and ("/" in text or "." in text or text.startswith("~"))


def _plain(path: str) -> bool:
    """True if *path* can be one: what has spaces in it is mostly prose."""
    return "\n" not in path and (" " not in path.strip() or path.startswith(_LEADS) or "/../" in path)


_EXAMPLES = (".env", ".netrc", ".npmrc", ".pypirc", ".ssh", ".aws", ".git-credentials", ".bash_history", "id_rsa")
_MENTIONS_OF_SED = re.compile(r"(?:^|[;{}/\d$])\s*[wWrR]\s+(\S+)")
_BYTES = re.compile(r"""(?<!\w)(?:[bB][rR]?|[rR][bB])(?:'[\w \-]*'|"[\w \-]*")""")
_QUOTED = re.compile(r"""['"`]([^'"`\s]{2,300})['"`]""")


def writes_files(program: str) -> bool:
    """True if what *program* names may be what it writes."""
    return program in programs_of("writers")


def named(word: str) -> list[str]:
    """The paths that may stand in *word*."""
    found = [word[2:] if re.match(r"-[A-Za-z]", word) else word]
    found += [word.rpartition(sign)[2] for sign in "@:" if sign in word]
    found += [word.partition("=")[2], *_MENTIONS_OF_SED.findall(word)]
    return [path for path in dict.fromkeys(found) if path and " " not in path.strip()]


@functools.lru_cache(1024)  # a command asks for each of its words again at each command inside it
def secret(path: str) -> bool:
    """True if *path*, or what is below it, or what it may match as a pattern, holds secrets."""
    if holds_secrets(path) or holds_secrets(f"{path.rstrip('/')}/x"):
        return True
    name = path.rstrip("/").rpartition("/")[2]
    if not re.search(r"[*?\[]", name) or not re.search(r"[.\w]", name.partition("*")[0]):
        return False
    return len(name) > LONGEST_PATTERN or any(fnmatch.fnmatchcase(example, name) for example in _EXAMPLES)


def quoted(code: str) -> list[str]:
    """Returns what stands between quotes in *code*, in whatever language."""
    return _QUOTED.findall(without_bytes(code))


def without_bytes(code: str) -> str:
    """*code* without the bytes literals of Python in it that can be no path: they are data."""
    return _BYTES.sub("b''", code)
