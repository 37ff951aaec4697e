"""Resolves a command's words: variables, paths, and what they hide."""

from __future__ import annotations

import fnmatch
import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from agentnb.policy.commands.names import INLINE, inner_commands
from agentnb.policy.commands.table import Options, programs_of, rate_by_table
from agentnb.policy.glob import LONGEST_PATTERN
from agentnb.policy.sensitive import holds_secrets
from agentnb.policy.severity import Risk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentnb.policy.severity import Severity
    from agentnb.policy.shell.tree import Field

_REMOVES = re.compile(
    r"(?<![\w.-])rm[\s'\",]+(?:-[\w-]+[\s'\",]+)*-(?:\w*[rRf]|-(?:rec|for))"
    r"|\bmkfs(?:\.\w+)?\s|\bdd\s(?:(?!\bdd\s)[^\n;|&])*of=/dev/[a-z]"
)
_SEARCHES = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"})
_TEXT_VERBS = frozenset({"log", "grep", "commit", "show", "shortlog", "blame", "tag", "stash"})


def removal(text: str) -> bool:
    """True if *text*, in whatever language, contains a command that removes something without asking."""
    return _REMOVES.search(text) is not None


def is_only_text(program: str, texts: Sequence[str], *, only_shown: bool) -> bool:
    """True if the arguments *texts* are only searched for, kept, or shown (*only_shown*), so that nothing runs them."""
    if program in {"echo", "printf"}:
        return only_shown and "-v" not in texts[:1]  # `printf -v 'a[$(rm x)]'` runs its argument
    if program in _SEARCHES:
        return not any(text.startswith(("--pre", "--pager", "--hostname-bin")) for text in texts)
    opens = any(text.startswith(("-O", "--open-files", "--exec", "--ext-diff", "--textconv")) for text in texts)
    return program == "git" and bool(texts) and texts[0] in _TEXT_VERBS and not opens


def insides(word: str) -> list[str]:
    """The texts in *word* that something may run: itself, and what follows ``=``, ``-x``, ``!`` and the like."""
    texts = [word]
    if word.startswith("-"):
        texts.append(word.partition("=")[2] if word.startswith("--") else word[2:])
    texts += re.findall(r"^(?::?!|\\!|\.(?:shell|system)\s)\s*(.+)", word, re.DOTALL)
    return [text for text in texts if text.strip()]


class Values:
    """The known values of a script's variables; remarks about them go to its *findings*."""

    def __init__(self, findings: list[Risk], unsure: Iterable[str] = ()) -> None:
        self._findings = findings
        self.known: dict[str, str] = {}
        self.unsure: set[str] = set(unsure)
        self._first: dict[str, str | None] = {}

    def set(self, name: str, value: str | None) -> None:
        """Set *name* to *value*; None is a value that only the running shell knows."""
        if self._first.setdefault(name, value) != value:
            self.unsure.add(name)
        if value is None or name in self.unsure:
            self.known.pop(name, None)
        else:
            self.known[name] = value

    def restore(self, name: str, before: str | None) -> None:
        """Undo a value that *name* had for one command only; *before* is None if its earlier value was unknown."""
        if before is None or name in self.unsure:
            self.known.pop(name, None)
        else:
            self.known[name] = before

    def assign(self, name: str, value: str | None) -> None:
        """Like :meth:`set`, for an assignment in the script; a name that decides what is run (``PATH``) is reported."""
        if decides(name):
            severity: Severity = "high" if runs_programs(name, value) else "medium"
            self._findings.append(Risk(severity, f"Changes {name}, which decides what is run."))
        self.set(name, value)

    def search_in(self, name: str, value: str) -> None:
        """Add a finding if programs or modules are searched for first in a folder that the agent may write to."""
        if name == "PATH" and value.startswith("."):
            self._findings.append(Risk("high", "Looks for programs in the workspace first."))
        elif name in {"PATH", *_MODULES} and value.startswith(ANYBODYS):
            self._findings.append(Risk("high", f"Looks first in a folder that every program can write to: {name}."))

    def declare(self, program: str, arguments: Sequence[Field]) -> bool:
        """Handle builtins that set variables; returns False if *program* is not one."""
        if program not in {"export", "declare", "typeset", "local", "readonly", "set"}:
            return False
        words = tuple(word.text for word in arguments)
        if removal(" ".join(words)):
            self._findings.append(Risk("critical", f"{program}'s arguments, if something runs them, remove for good."))
        for word in arguments:
            name, equals, value = word.text.partition("=")
            if equals:
                self.search_in(name.rstrip("+"), value)
                self.assign(name.rstrip("+"), None if word.dynamic else value)
        if (risk := rate_by_table(program, Options.of(words))) is not None:
            self._findings.append(risk)
        if not any("=" in word for word in words) and program in {"export", "declare", "set"}:
            self._findings.append(Risk("low", "Prints or changes the shell's variables."))
        return True

    def fill(self, program: str, arguments: Sequence[Field]) -> None:
        """Forget the variables that the command has changed in ways that only the running shell knows."""
        for name in filled(program, arguments):
            self.set(name, None)
        if program in {"source", "."}:  # the script may change any variable
            for name in list(self.known):
                self.set(name, None)


_TAKING = {"read": ("-d", "-n", "-N", "-p", "-t", "-u", "-i"), "mapfile": ("-d", "-n", "-O", "-s", "-u", "-C", "-c")}
_CHANGING = re.compile(r"-[a-zA-Z]*[luinc][a-zA-Z]*")


def filled(program: str, arguments: Sequence[Field]) -> list[str]:
    """Returns the variables that the builtin *program* sets to values that only the running shell knows."""
    texts = [word.text for word in arguments]
    match program:
        case "read" | "mapfile" | "readarray":
            taking = _TAKING["read" if program == "read" else "mapfile"]
            return [
                text
                for at, text in enumerate(texts)
                if not text.startswith("-") and (at == 0 or texts[at - 1] not in taking)
            ] or ["REPLY", "MAPFILE"]
        case "printf":
            return texts[1:2] if texts[:1] == ["-v"] else [text[2:] for text in texts[:1] if text.startswith("-v")]
        case "getopts":
            return [*texts[1:2], "OPTARG"]
        case "unset" | "let":
            return [text.partition("=")[0].rstrip("+-*/") for text in texts if not text.startswith("-")]
        case "declare" | "typeset" | "local" if any(map(_CHANGING.fullmatch, texts)):
            return [text.partition("=")[0].rstrip("+") for text in texts if not text.startswith("-")]
        case _:
            return []


_DECIDES = re.compile(
    r"PATH|IFS|SHELL|ENV|HOME|CDPATH|ZDOTDIR|INPUTRC|BASH_\w+|PS[0-4]|PROMPT_COMMAND|LD_\w+|DYLD_\w+|GCONV_PATH"
    r"|OPENSSL_\w+|GIT_\w+|\w*(?:PAGER|EDITOR|VISUAL|BROWSER|ASKPASS|_RSH|_OPTIONS|OPTS?|_CONFIG|_CONFIG_FILE)|LESS\w+"
    r"|PYTHON\w+|PERL5?\w+|RUBY\w+|NODE_\w+|JAVA_\w+|_JAVA_\w+|XDG_\w+_(?:HOME|DIRS)|CC|CXX|LD|AR|MAKE\w*"
    r"|(?:npm_config|NPM_CONFIG|PIP|UV|CARGO)_\w+|\w*(?:HTTPS?|ALL|FTP)_PROXY|\w+_proxy|TAR_\w+|RSYNC_\w+|SSH_\w+"
)
_HARMLESS = re.compile(
    r"GIT_(?:AUTHOR|COMMITTER)_\w+|GIT_(?:TERMINAL_PROMPT|OPTIONAL_LOCKS|MERGE_AUTOEDIT|TRACE\w*)|NODE_ENV|PIP_NO_\w+"
    r"|PYTHON(?:DONTWRITEBYTECODE|UNBUFFERED|HASHSEED|UTF8|IOENCODING|FAULTHANDLER|DEVMODE|ASYNCIODEBUG)"
)


def decides(name: str) -> bool:
    """True if the variable *name* decides what is run."""
    return _DECIDES.fullmatch(name) is not None and _HARMLESS.fullmatch(name) is None


_RUNS = re.compile(
    r"LD_\w+|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|PS4|GIT_(?:SSH\w*|EXTERNAL_DIFF|PROXY_COMMAND|ASKPASS|EDITOR|PAGER"
    r"|SEQUENCE_EDITOR|CONFIG\w*|EXEC_PATH|TEMPLATE_DIR)|\w*PAGER|\w*EDITOR|VISUAL|BROWSER|\w*ASKPASS|LESS(?:OPEN|CLOSE)"
    r"|PERL5OPT|PERL5DB|RUBYOPT|NODE_OPTIONS|PYTHON(?:STARTUP|WARNINGS|BREAKPOINT|HOME|INSPECT)|JAVA_TOOL_OPTIONS"
    r"|_JAVA_OPTIONS|RSYNC_RSH|TAR_OPTIONS|MAKEFLAGS|\w*_RSH|OPENSSL_CONF|GCONV_PATH"
    r"|PIP_(?:INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|TRUSTED_HOST|CONFIG_FILE|TARGET|PREFIX)"
    r"|UV_(?:\w*INDEX\w*|FIND_LINKS|INSECURE_HOST|CONFIG_FILE)|CONDA_CHANNELS|CONDARC"
    r"|(?:npm_config|NPM_CONFIG)_(?:registry|REGISTRY|script_shell|SCRIPT_SHELL|userconfig|USERCONFIG|node_options"
    r"|NODE_OPTIONS)|RUSTC_WRAPPER|RUSTC|CARGO_(?:REGISTRIES|TARGET|BUILD)_\w+|GOPROXY|GOFLAGS|GONOSUMDB|GONOSUMCHECK"
)
ANYBODYS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - where every program may have written
_MODULES = frozenset({"PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB"})
_PLAIN = frozenset({"", "cat", "true", ":", "less", "more", "vi", "vim", "nano", "code", "less -R", "less -FRX"})


def runs_programs(name: str, value: str | None) -> bool:
    """True if the variable *name* with *value* makes other programs run or load what the value names."""
    if name == "PATH":
        return (value or "").startswith((".", *ANYBODYS))
    if name in _MODULES:  # a folder of the workspace is common here
        return any(each.startswith(ANYBODYS) for each in (value or "").split(":"))
    return _RUNS.fullmatch(name) is not None and value not in _PLAIN


class NamedPath(NamedTuple):
    path: str
    writes: bool = False
    through: tuple[str, ...] = ()
    sure: bool = True
    dynamic: bool = False
    lists: bool = False


_FILE_SHELLS = dict.fromkeys(("hdfs", "hadoop"), frozenset({"-ls", "-du", "-df", "-count", "-stat", "-test"}))
"""Programs whose first word names a file system's shell, and that shell's listing commands."""

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
_MOUNTS = frozenset({"-v", "--volume"})
_TEXT = {
    "git": frozenset({"-m", "--message"}),
    "find": _NAMES,
    "pytest": frozenset({"-k", "-m"}),
    **dict.fromkeys(_CONTAINERS, frozenset({"-w", "--workdir"})),
}
_OF_SED = re.compile(r"(?:^|[;{}/\d$])\s*[wW]\s+(\S+)")
_LEADS = ("/", "~", "../", "./", "$")


def places(program: str, arguments: Sequence[Field], *, computing: bool = False) -> Iterator[NamedPath]:
    """Yields the files that *program* accesses, as far as *arguments* show."""
    if program in programs_of("speaking") and not computing:
        return
    words = [
        word for word in _own(program, arguments) if program not in _SEPARATED or not _SEPARATOR.fullmatch(word.text)
    ]
    writes = changes_files(program, words)
    operands = [at for at, word in enumerate(words) if not word.text.startswith(("-", "+"))]
    pattern = _pattern(program, words, operands)
    code = INLINE.get(program) or INLINE.get(program.rstrip("0123456789.")) or ()
    for at, word in enumerate(words):
        before = words[at - 1].text if at else ""
        if program in _CONTAINERS and before in _MOUNTS:  # the machine's folder; after the colon, the container's
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
    """True if *program* shows only where files are, never their content: ``ls /data``, ``hdfs dfs -ls /data``."""
    return program in programs_of("listing") or (
        program in _FILE_SHELLS and len(words) > 1 and words[1].text in _FILE_SHELLS[program] and not words[1].dynamic
    )


def _own(program: str, arguments: Sequence[Field]) -> list[Field]:
    """Returns the arguments of *program* itself, without those of a command that it runs."""
    words = list(arguments)
    for inner in inner_commands(program, arguments):
        if inner.words and program not in {"find", "fd"} and tuple(words[-len(inner.words) :]) == tuple(inner.words):
            words = words[: -len(inner.words)]
        elif inner.script:
            words = [word for word in words if word.text != inner.script]
    return words


def changes_files(program: str, words: Sequence[Field]) -> bool:
    """True if *program* with *words* may change the files it names; some programs do so only with an option."""
    if program not in programs_of("writers"):
        return False
    option = _CHANGES.get(program)
    return option is None or any(word.text.startswith(option) for word in words)


def _pattern(program: str, words: Sequence[Field], operands: Sequence[int]) -> int | None:
    if program not in programs_of("patterns"):
        return None
    for at, word in enumerate(words):
        if _PATTERN_OPTIONS.fullmatch(word.text):
            return at + 1 if "f" not in word.text.lstrip("-")[:1] else None
    return next((at for at in operands if not words[at].text.isdigit()), None)


def _inside(program: str, word: Field) -> Iterator[NamedPath]:
    """Yields the files that a script for ``sed``, ``awk``, ``perl`` or ``ruby`` names."""
    if program.endswith("sed"):
        yield from (NamedPath(path, writes=True) for path in _OF_SED.findall(word.text))
    elif program.endswith(("awk", "perl", "ruby")):
        yield from (NamedPath(path, writes=">" in word.text) for path in quoted(word.text) if _is_path(path))


def _of(word: Field, *, writes: bool) -> Iterator[NamedPath]:
    """Yields the files that one argument may name, also attached to an option, a variable or an ``@``."""
    text = word.text
    if text.startswith("-"):
        name, _, value = text.partition("=")
        glued = "" if text.startswith("--") else text[2:]
        paths = [value, glued if glued.startswith(_LEADS) or "." in glued or "/" in glued else ""]
        writes = writes or _OUTPUT.fullmatch(name if value else text[:2]) is not None
    else:
        paths = [text, text.partition("=")[2], text[1:] if text.startswith("@") else text.partition("@")[2]]
        writes = (writes or text.startswith("of=")) and not text.startswith("if=")
    paths += [part for part in text.split(":")[1:] if part.startswith(("/", "~", "../", "./"))]
    for path in dict.fromkeys(paths):
        path = path.removeprefix("file://")  # noqa: PLW2901
        if path and "://" not in path and not path.startswith("//") and _plain(path):
            yield NamedPath(path, writes=writes, dynamic=word.dynamic)


def _is_path(text: str) -> bool:
    return "://" not in text and ("/" in text or "." in text or text.startswith("~"))


def _plain(path: str) -> bool:
    """True if *path* can be a path: text with spaces is mostly prose."""
    return "\n" not in path and (" " not in path.strip() or path.startswith(_LEADS) or "/../" in path)


_EXAMPLES = (".env", ".netrc", ".npmrc", ".pypirc", ".ssh", ".aws", ".git-credentials", ".bash_history", "id_rsa")
_MENTIONS_OF_SED = re.compile(r"(?:^|[;{}/\d$])\s*[wWrR]\s+(\S+)")
_BYTES = re.compile(r"""(?<!\w)(?:[bB][rR]?|[rR][bB])(?:'[\w \-]*'|"[\w \-]*")""")
_QUOTED = re.compile(r"""['"`]([^'"`\s]{2,300})['"`]""")


def named(word: str) -> list[str]:
    """Returns the paths that *word* may contain."""
    paths = [word[2:] if re.match(r"-[A-Za-z]", word) else word]
    paths += [word.rpartition(sign)[2] for sign in "@:" if sign in word]
    paths += [word.partition("=")[2], *_MENTIONS_OF_SED.findall(word)]
    return [path for path in dict.fromkeys(paths) if path and " " not in path.strip()]


@functools.lru_cache(1024)  # each nested command checks the same words again
def secret(path: str) -> bool:
    """True if *path*, or what is below it, or what it may match as a pattern, holds secrets."""
    if holds_secrets(path) or holds_secrets(f"{path.rstrip('/')}/x"):
        return True
    name = path.rstrip("/").rpartition("/")[2]
    if not re.search(r"[*?\[]", name) or not re.search(r"[.\w]", name.partition("*")[0]):
        return False
    return len(name) > LONGEST_PATTERN or any(fnmatch.fnmatchcase(example, name) for example in _EXAMPLES)


def quoted(code: str) -> list[str]:
    return _QUOTED.findall(without_bytes(code))


def without_bytes(code: str) -> str:
    """Returns *code* without the Python bytes literals that cannot be paths: they are data."""
    return _BYTES.sub("b''", code)
