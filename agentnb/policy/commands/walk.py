"""Walks through a script and collects what is to be said about it: commands, files written, disguises."""

from __future__ import annotations

import posixpath
import shlex
from typing import TYPE_CHECKING

from agentnb.policy.commands.code import INLINE, rate_code
from agentnb.policy.commands.files import target
from agentnb.policy.commands.options import Options
from agentnb.policy.commands.programs import rate_program
from agentnb.policy.commands.streams import DECODES, DOWNLOADS, echoed
from agentnb.policy.commands.system import SUPERUSER
from agentnb.policy.commands.wrappers import SHELLS, inner_commands, reads_script
from agentnb.policy.sensitive import SENSITIVE, holds_secrets, sensitive_pattern
from agentnb.policy.severity import Finding
from agentnb.policy.shell import Compound, Field, Function, Pipeline, Script, Simple, Unreadable, fields, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.policy.sensitive import Patterns
    from agentnb.policy.shell import Dialect, Redirect, Word
    from agentnb.policy.shell.tree import Command

_WRITES = frozenset({">", ">>", ">|", "<>", "&>", "&>>"})
_WRITERS = frozenset({"tee", "cp", "mv", "ln", "install", "dd", "sed", "rm", "touch", "truncate", "chmod", "patch"})
_POWERS = frozenset({"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONSTARTUP"}) | {
    *(
        "PYTHONPATH",
        "NODE_OPTIONS",
        "GIT_SSH_COMMAND",
        "GIT_EXTERNAL_DIFF",
        "PERL5OPT",
        "RUBYOPT",
        "DYLD_INSERT_LIBRARIES",
    ),
    *("GIT_SSH", "GIT_PAGER", "PAGER", "EDITOR", "VISUAL", "IFS", "SHELL", "PS4", "LD_AUDIT"),
}
_DEEPEST = 12


class Walk:
    """One walk.

    Args:
        dialect: What shell is imagined.
        patterns: The sensitive files.

    Attributes:
        findings: What was found.
        units: Every command as a line, in order: what rules match.
        sensitive: The first sensitive file that is named, if any.
    """

    def __init__(self, dialect: Dialect, patterns: Patterns = SENSITIVE) -> None:
        self.findings: list[Finding] = []
        self.units: list[str] = []
        self.sensitive: str | None = None
        self._dialect = dialect
        self._patterns = patterns
        self._variables: dict[str, str] = {}
        self._functions: dict[str, Script] = {}
        self._loaded: set[str] = set()
        self._depth = 0

    def script(self, script: Script) -> None:
        """Walk through *script*."""
        for command in script.commands:
            self._command(command)

    def text(self, text: str) -> None:
        """Walk through the script *text*.

        Raises:
            Unreadable: If it is none.
        """
        if self._depth >= _DEEPEST:
            raise Unreadable("It is nested too deep to be followed.")
        self._depth += 1
        try:
            self.script(parse(text, self._dialect, self._depth))
        finally:
            self._depth -= 1

    # --- the tree ---

    def _command(self, command: Command) -> None:
        match command:
            case Simple():
                self._simple(command)
            case Pipeline():
                self._pipeline(command)
            case Compound():
                self._compound(command)
            case Function():
                self._functions[command.name] = command.body
                if _calls_itself(command):
                    self._find("critical", "A fork bomb: it starts itself over and over.")
                self.script(command.body)

    def _compound(self, command: Compound) -> None:
        for word in command.words:
            self._computes(word)
        for redirect in command.redirects:
            self._redirect(redirect)
        if command.name is not None:
            self._variables.pop(command.name, None)
        for body in command.bodies:
            self.script(body)

    def _pipeline(self, pipeline: Pipeline) -> None:
        carried: str | None = None
        programs: list[str] = []
        for place, command in enumerate(pipeline.commands):
            if not isinstance(command, Simple):
                self._command(command)
                carried = None
                continue
            words = self._simple(command)
            program, arguments = _innermost(words)
            if place and _interprets(program) and reads_script(program, arguments):
                self._fed(program, carried, programs)
            fed = self._document(command) or carried
            carried = echoed(program, arguments, fed) if program else None
            programs.append(program)

    def _fed(self, program: str, text: str | None, before: Sequence[str]) -> None:
        """A program runs what the commands *before* it print."""
        if any(each in DOWNLOADS for each in before):
            self._find("high", "Runs what it loads from the network, unseen.")
        elif any(each in DECODES for each in before):
            self._find("high", "Runs what it decodes: what that is cannot be read here.")
        elif text is None:
            self._find("high", f"{program} runs what another command prints.")
        if text is not None:
            self._run(program, text)

    def _run(self, program: str, text: str) -> None:
        if program in SHELLS or program in {"source", ".", "eval"}:
            self._inner_text(text, dynamic=False)
        else:
            self.findings.append(rate_code(text))

    # --- one command ---

    def _simple(self, command: Simple) -> list[Field]:
        for name, value in command.assignments:
            self._assign(name, value)
        for word in command.words:
            self._computes(word)
        words = [field for word in command.words for field in fields(word, self._variables)]
        for redirect in command.redirects:
            self._redirect(redirect)
        if not words:
            return words
        powers = [f"{name}={value.source.partition('=')[2]}" for name, value in command.assignments if name in _POWERS]
        writes = [f"{each.operator} {each.target.source}" for each in command.redirects if _writes(each)]
        self._unit(words, writes, powers)
        program, arguments = _innermost(words)
        document = self._document(command)
        if document is not None and _interprets(program) and reads_script(program, arguments):
            self._run(program, document)
        fed_by = [part for word in command.words for part in word.parts if getattr(part, "feeds", False)]
        if fed_by and _interprets(program):
            self._find("high", f"{program} runs what another command prints.")
        self._argv(words)
        return words

    def _argv(self, words: Sequence[Field]) -> None:
        name = words[0]
        if name.dynamic or not name.text:
            self._find("high", f"What it runs is only known when it runs: {name.text}.")
        program, arguments = program_name(name.text), words[1:]
        if name.text in self._functions:
            return
        if self._powers(name.text, arguments):
            return
        found = rate_program(program, Options.of(tuple(word.text for word in arguments)))
        if found is not None:
            self.findings.append(found)
        self._downloads(program, words)
        self._files(program, arguments)
        self._code(program, arguments)
        for inner in inner_commands(program, arguments):
            if inner.words:
                self._unit(inner.words)
                self._argv(inner.words)
            else:
                self._inner_text(inner.script, dynamic=inner.dynamic)
        self._disguised(program, arguments)

    def _powers(self, program: str, arguments: Sequence[Field]) -> bool:
        """Builtins that set variables."""
        if program not in {"export", "declare", "typeset", "local", "readonly", "set"}:
            return False
        for word in arguments:
            name, equals, value = word.text.partition("=")
            if equals:
                self._set(name.rstrip("+"), None if word.dynamic else value)
        if not any("=" in word.text for word in arguments) and program in {"export", "declare", "set"}:
            self._find("low", "Prints or changes the shell's variables.")
        return True

    def _code(self, program: str, arguments: Sequence[Field]) -> None:
        options = INLINE.get(program) or INLINE.get(program.rstrip("0123456789.")) or ()
        for at, word in enumerate(arguments):
            if not any(_gives(word.text, option) for option in options):
                continue
            following = arguments[at + 1] if at + 1 < len(arguments) else Field("")
            self.findings.append(rate_code(following.text))
            if following.dynamic:
                self._find("high", "The code it runs is only known when it runs.")
            return

    def _inner_text(self, text: str, *, dynamic: bool) -> None:
        if dynamic:
            self._find("high", "The script it runs is only known when it runs.")
        try:
            self.text(text)
        except Unreadable as error:
            if not dynamic:
                self._find("high", f"The script inside could not be read: {error.message}")

    def _disguised(self, program: str, arguments: Sequence[Field]) -> None:
        """Arguments that would be dangerous if something ran them: what becomes of them cannot be seen."""
        for at, word in enumerate(arguments):
            if program_name(word.text) in SUPERUSER - {"su", "install"} and not word.text.startswith("-"):
                self._find("high", f"Names {word.text}, which gives administrator rights.")
            if " " not in word.text.strip() or self._depth >= _DEEPEST or at > 64:  # noqa: PLR2004 - enough of them
                continue
            inside = Walk(self._dialect, self._patterns)
            inside._depth = self._depth + 4
            try:
                inside.text(word.text)
            except Unreadable:
                continue
            self.findings += [
                Finding(found.severity, f"One of {program}'s arguments, if something runs it: {found.reason}")
                for found in inside.findings
                if found.severity == "critical"
            ]

    def _downloads(self, program: str, words: Sequence[Field]) -> None:
        texts = [word.text for word in words[1:]]
        if program in DOWNLOADS:
            self._loaded |= {posixpath.basename(text) for text in texts if not text.startswith("-")}
        runs = texts if _interprets(program) or program in {"source", ".", "chmod"} else [words[0].text]
        if self._loaded.intersection(map(posixpath.basename, runs)) and program not in DOWNLOADS:
            self._find("high", "Runs what it loads from the network, unseen.")

    def _files(self, program: str, arguments: Sequence[Field]) -> None:
        for word in arguments:
            path = (
                word.text.rpartition("=")[2].lstrip("@") if "=" in word.text or word.text.startswith("@") else word.text
            )
            if program in {"echo", "printf", "true", ":"} or path.startswith("-") or " " in path:
                continue
            if holds_secrets(path) or (program in _WRITERS and sensitive_pattern(path, self._patterns)):
                self._name(path)

    def _name(self, path: str) -> None:
        pattern = sensitive_pattern(path, self._patterns)
        if pattern is not None:
            self.sensitive = self.sensitive or path
            self._find("high", f"Names a sensitive file: {path} matches {pattern}.")

    # --- pieces ---

    def _unit(self, words: Sequence[Field], writes: Sequence[str] = (), powers: Sequence[str] = ()) -> None:
        line = " ".join(word.text if word.dynamic else shlex.quote(word.text) for word in words)
        self.units.append(" ".join([*powers, line, *writes]))

    def _redirect(self, redirect: Redirect) -> None:
        self._computes(redirect.word)
        for place in fields(redirect.target, self._variables) if not redirect.document else ():
            if _writes(redirect) or place.text.startswith(("/dev/tcp/", "/dev/udp/")):
                found = target(place.text)
                if found is not None:
                    self.findings.append(found)
                elif place.text != "/dev/null":
                    self._find("high" if place.dynamic else "medium", f"Writes to {place.text}.")
                if sensitive_pattern(place.text, self._patterns):
                    self._name(place.text)
            elif redirect.operator == "<" and holds_secrets(place.text):
                self._name(place.text)

    def _document(self, command: Simple) -> str | None:
        for redirect in reversed(command.redirects):
            if redirect.document or redirect.operator == "<<<":
                return " ".join(field.text for field in fields(redirect.word, self._variables))
        return None

    def _assign(self, name: str, value: Word) -> None:
        self._computes(value)
        known = fields(value, self._variables)
        fixed = " ".join(field.text for field in known) if not any(field.dynamic for field in known) else None
        self._set(name, fixed)

    def _set(self, name: str, value: str | None) -> None:
        if name in _POWERS or name.startswith("BASH_FUNC"):
            self._find(
                "high" if name.startswith(("LD_", "DYLD_")) else "medium", f"Changes {name}, which decides what is run."
            )
        if value is None:
            self._variables.pop(name, None)
        else:
            self._variables[name] = value

    def _computes(self, word: Word) -> None:
        for script in word.scripts:
            self.script(script)

    def _find(self, severity: str, reason: str) -> None:
        self.findings.append(Finding(severity, reason))  # type: ignore[arg-type] # literals of this module


def program_name(name: str) -> str:
    """The program that *name* means, whatever folder, case or ``.exe`` it is written with."""
    return name.replace("\\", "/" if "/" not in name else "\\").rpartition("/")[2].lower().removesuffix(".exe")


def _innermost(words: Sequence[Field]) -> tuple[str, list[Field]]:
    """The program that at last reads what is fed, behind ``sudo``, ``env`` and the like."""
    current = list(words)
    for _ in range(_DEEPEST):
        if not current:
            return "", []
        program = program_name(current[0].text)
        inner = [each.words for each in inner_commands(program, current[1:]) if each.words]
        if program == "find" or not inner:
            return program, current[1:]
        current = list(inner[0])
    return "", []


def _gives(word: str, option: str) -> bool:
    """Whether *word* is *option*, alone or at the end of a cluster such as ``-Ic``."""
    cluster = (
        word.startswith("-") and not word.startswith("--") and option.startswith("-") and not option.startswith("--")
    )
    return word == option or (cluster and len(option) == len("-c") and word.endswith(option[1]))


def _interprets(program: str) -> bool:
    return (
        program in SHELLS or program in {"source", "."} or program in INLINE or program.rstrip("0123456789.") in INLINE
    )


def _writes(redirect: Redirect) -> bool:
    return redirect.operator in _WRITES or (
        redirect.operator == ">&" and not (redirect.target.plain or "x").strip("-").isdigit()
    )


def _calls_itself(function: Function) -> bool:
    """Whether a function starts itself in a pipeline or in the background."""

    def calls(script: Script, *, forks: bool) -> bool:
        for at, command in enumerate(script.commands):
            inside = forks or at in script.background
            match command:
                case Simple() if inside and command.words and command.words[0].fixed == function.name:
                    return True
                case Pipeline() if calls(Script(commands=command.commands), forks=True):
                    return True
                case Compound() if any(calls(body, forks=inside) for body in command.bodies):
                    return True
        return False

    return calls(function.body, forks=False)
