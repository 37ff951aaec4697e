"""The shell's variables: which values are known, and which variables decide what other programs run or load."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.policy.commands.disguise import removal
from agentnb.policy.commands.table import Options, rate_by_table
from agentnb.policy.severity import Risk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentnb.policy.severity import Severity
    from agentnb.policy.shell.expand import Field


class Values:
    """The known values of a script's variables; remarks about them go to its *findings*."""

    def __init__(self, findings: list[Risk], unsure: Iterable[str] = ()) -> None:
        self._findings = findings
        self.known: dict[str, str] = {}
        self.unsure: set[str] = set(unsure)
        self._first: dict[str, str | None] = {}

    def set(self, name: str, value: str | None) -> None:
        """Gives *name* the value *value*; None is one that only the running shell knows."""
        if self._first.setdefault(name, value) != value:
            self.unsure.add(name)
        if value is None or name in self.unsure:
            self.known.pop(name, None)
        else:
            self.known[name] = value

    def restore(self, name: str, before: str | None) -> None:
        """Takes back what *name* was for one command only; *before* is None where nothing was known of it."""
        if before is None or name in self.unsure:
            self.known.pop(name, None)
        else:
            self.known[name] = before

    def assign(self, name: str, value: str | None) -> None:
        """As :meth:`set`, in the script: one that decides what is run (``PATH``) is a finding."""
        if decides(name):
            severity: Severity = "high" if runs_programs(name, value) else "medium"
            self._findings.append(Risk(severity, f"Changes {name}, which decides what is run."))
        self.set(name, value)

    def search_in(self, name: str, value: str) -> None:
        """A finding where programs or modules are searched for first in a folder that the agent may write to."""
        if name == "PATH" and value.startswith("."):
            self._findings.append(Risk("high", "Looks for programs in the workspace first."))
        elif name in {"PATH", *_MODULES} and value.startswith(ANYBODYS):
            reason = f"Looks first in a folder that every program can write to: {name}."
            self._findings.append(Risk("high", reason))

    def declare(self, program: str, arguments: Sequence[Field]) -> bool:
        """Builtins that set variables; False where *program* is none."""
        if program not in {"export", "declare", "typeset", "local", "readonly", "set"}:
            return False
        words = tuple(word.text for word in arguments)
        if removal(" ".join(words)):
            reason = f"{program}'s arguments, if something runs them, remove for good."
            self._findings.append(Risk("critical", reason))
        for word in arguments:
            name, equals, value = word.text.partition("=")
            if equals:
                self.search_in(name.rstrip("+"), value)
                self.assign(name.rstrip("+"), None if word.dynamic else value)
        if (found := rate_by_table(program, Options.of(words))) is not None:
            self._findings.append(found)
        if not any("=" in word for word in words) and program in {"export", "declare", "set"}:
            self._findings.append(Risk("low", "Prints or changes the shell's variables."))
        return True

    def fill(self, program: str, arguments: Sequence[Field]) -> None:
        """Forget the variables that the command has changed by now, in ways that only the running shell knows."""
        for name in filled(program, arguments):
            self.set(name, None)
        if program in {"source", "."}:  # any variable may have another value
            for name in list(self.known):
                self.set(name, None)


_TAKING = {"read": ("-d", "-n", "-N", "-p", "-t", "-u", "-i"), "mapfile": ("-d", "-n", "-O", "-s", "-u", "-C", "-c")}
_CHANGING = re.compile(r"-[a-zA-Z]*[luinc][a-zA-Z]*")


def filled(program: str, arguments: Sequence[Field]) -> list[str]:
    """The variables to which the builtin *program* gives values that only the running shell knows."""
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
    """True if the variable *name* with *value* makes other programs run or load what it names."""
    if name == "PATH":
        return value is not None and value.startswith((".", *ANYBODYS))
    if name in _MODULES:  # of the workspace it is everyday
        return value is not None and any(each.startswith(ANYBODYS) for each in value.split(":"))
    return _RUNS.fullmatch(name) is not None and value not in _PLAIN
