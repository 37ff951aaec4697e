"""Walks through a shell script and collects the findings about it.

Variables, substitutions and pipes are replaced by their values if these are known without running anything. Each
unknown one is a finding, at least *high*, so that hiding a command never makes it look better than showing it. Not
checked: what a program does when it runs.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import posixpath
import re
import shlex
from typing import TYPE_CHECKING

from agentnb.policy.commands.files import (
    DECODES,
    DOWNLOADS,
    SUPERUSER,
    NamedFiles,
    echoed,
    emptied,
    fed_text,
    is_read,
    rate_program,
    rate_statements,
    target,
)
from agentnb.policy.commands.names import (
    INLINE,
    SHELLS,
    calls_itself,
    gives,
    inner_commands,
    innermost,
    interprets,
    module_of,
    program_name,
    rate_code,
    reads_script,
    writes,
)
from agentnb.policy.commands.paths import (
    NamedPath,
    Values,
    decides,
    insides,
    is_only_text,
    quoted,
    removal,
    secret,
)
from agentnb.policy.commands.table import Options, known_programs, module_kind, programs_of
from agentnb.policy.glob import LONGEST_PATTERN
from agentnb.policy.sensitive import SENSITIVE, sensitive_pattern
from agentnb.policy.severity import Risk
from agentnb.policy.shell.parser import parse
from agentnb.policy.shell.tree import Compound, Field, Function, Pipeline, ShellScript, Simple, fields
from agentnb.policy.shell.words import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentnb.policy.sensitive import Patterns
    from agentnb.policy.shell.parser import Dialect
    from agentnb.policy.shell.tree import Command, Redirect, Word

_DELETING = frozenset({"rm", "unlink", "rmdir", "shred", "trash", "truncate", "del", "mv"})
_BEGINS = frozenset({"rm", "shred", "srm", "dd", "wipefs", "blkdiscard", "find", "sudo", "doas", "env", "xargs"})
"""Programs with which another command may begin, among the arguments of an unknown one."""
_REPEATING = frozenset({"find", "fd", "fdfind", "xargs", "parallel", "sem"})
_PYTHONS = frozenset({"python", "pypy", "py"})
_MOST_NAMES = 24
_DEEPEST = 12
_MOST = 64
_CREDENTIAL = re.compile(r"\$\w*(?:SECRET|TOKEN|PASSW|API_?KEY|ACCESS_?KEY|CREDENTIAL)")
_ASSIGNS = re.compile(r"[A-Za-z_]\w*=")
_JOINED = re.compile(r"[;\n]|\|\||(?<![&>])&(?![&>])|\b(?:if|for|while|until|case|function)\b")


@functools.cache
def _names() -> list[str]:
    """Returns the programs to try a pattern on that stands in a program's place, the most damaging first."""
    first = ("rm", "sh", "bash", "dd", "mv", "git", "find", "sudo", "curl", "python", "shred", "cp", "wget", "eval")
    return list(dict.fromkeys([*first, *sorted(known_programs() | SHELLS | set(INLINE))]))


class Walk:
    def __init__(
        self,
        dialect: Dialect,
        patterns: Patterns = SENSITIVE,
        env: Sequence[tuple[str, str]] = (),
        unsure: Iterable[str] = (),
    ) -> None:
        self.findings: list[Risk] = []
        self.unused: list[Risk] = []
        self.units: list[str] = []
        self.programs: set[str] = set()
        self.values: Values = Values(self.findings, unsure)
        self.files: NamedFiles = NamedFiles(self.findings, patterns)
        self._dialect = dialect
        self._functions: dict[str, ShellScript] = {}
        self._depth = 0
        self._computing = 0
        self._wrappers = 0
        self._repeating = 0
        self._grouped = 0
        self._only_shown = False
        self._variables = tuple(f"{name}={shlex.quote(value)}" for name, value in env if decides(name))
        for name, value in env:
            if removal(value):
                self._find("critical", f"{name}, if something runs it, removes for good.")
            self.values.assign(name, value)

    def script(self, script: ShellScript) -> None:
        for command in script.commands:
            self._command(command)
        if script.background and not _is_waited_for(script):
            self._find("high", "Leaves something running after the command ends.")

    def text(self, text: str) -> None:
        if self._depth >= _DEEPEST:
            raise Unreadable("It is nested too deeply to be checked.")
        self._depth += 1
        self.files.sure = self.files.sure and _JOINED.search(text) is None
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
                if calls_itself(command):
                    self._find("critical", "A fork bomb: it starts copies of itself without end.")
                self._grouped += 1
                self.script(command.body)
                self._grouped -= 1

    def _compound(self, command: Compound) -> None:
        """Walk through each body of a loop, condition, group or subshell, as if the shell ran all of them."""
        for word in command.words:
            self._computes(word)
            for each in fields(word, self.values.known) if command.kind == "for" else ():
                self.files.add(NamedPath(each.text, dynamic=each.dynamic))
        for redirect in command.redirects:
            self._redirect(redirect)
        if command.name is not None:
            self.values.set(command.name, None)
        before = self.files.through
        repeats = command.kind in {"for", "while"}
        self._repeating += repeats
        self._grouped += 1
        for body in command.bodies:
            self.script(body)
        self._grouped -= 1
        self._repeating -= repeats
        if command.kind == "subshell":
            self.files.through = before

    def _pipeline(self, pipeline: Pipeline) -> None:
        """Walk through commands joined by pipes; text that one certainly prints is fed to the next."""
        carried: str | None = None
        programs: list[str] = []
        before = self.files.through
        for place, command in enumerate(pipeline.commands):
            self.files.through = before
            if not isinstance(command, Simple):
                self._command(command)
                carried = None
                continue
            words = self._simple(command, followed=pipeline.commands[place + 1 :])
            program, arguments = innermost(words)
            if place and interprets(program) and reads_script(program, arguments):
                self._fed(program, carried, programs)
            if place and program in programs_of("databases"):
                self.findings += rate_statements(program, carried)
            if place and carried and words and program_name(words[0].text) in {"xargs", "parallel", "sem", "entr"}:
                self._inner_text(f"{program} {' '.join(each.text for each in arguments)} {carried}", dynamic=False)
            fed = fed_text(command, self.values.known) or carried
            carried = echoed(program, arguments, fed) if program else None
            programs.append(program)
        self.files.through = before

    def _fed(self, program: str, text: str | None, before: Sequence[str]) -> None:
        """Handle a program that runs what the commands *before* it print."""
        if any(each in DOWNLOADS for each in before):
            self._find("high", "Runs what it loads from the network without checking it.")
        elif any(each in DECODES for each in before):
            self._find("high", "Runs what it decodes, which cannot be checked in advance.")
        elif text is None:
            self._find("high", f"{program} runs what another command prints.")
        if text is not None:
            self._run(program, text)

    def _run(self, program: str, text: str) -> None:
        """Handle *text* as code for *program*: walk through it if that is a shell, else rate it as code."""
        if program in SHELLS or program in {"source", ".", "eval"}:
            self._inner_text(text, dynamic=False)
        else:
            self.findings.append(rate_code(text))

    # --- one command ---

    def _simple(self, command: Simple, followed: Sequence[Command] = ()) -> list[Field]:
        """Walk through one command as the parser gives it, with variables and substitutions filled in."""
        before = {name: self.values.known.get(name) for name, _ in command.assignments}
        for name, value in command.assignments:
            self._assign(name, value)
        words = self._one(command, followed)
        if words:  # assignments before a command apply to that command only
            for name, known in before.items():
                self.values.restore(name, known)
            self.values.fill(program_name(words[0].text), words[1:])
        return words

    def _one(self, command: Simple, followed: Sequence[Command]) -> list[Field]:
        for word in command.words:
            self._computes(word)
        words = [field for word in command.words for field in fields(word, self.values.known)]
        for redirect in command.redirects:
            self._redirect(redirect)
        self.findings += emptied(command, words)
        if not words:
            return words
        self._only_shown = not (
            self._grouped or self._computing or self._depth > 1 or any(map(writes, command.redirects))
        ) and all(map(_only_reads_text, followed))
        powers = [f"{name}={value.source.partition('=')[2]}" for name, value in command.assignments if decides(name)]
        written = [f"{each.operator} {each.target.source}" for each in command.redirects if writes(each)]
        self._unit(words, written, powers)
        if program_name(words[0].text) in DOWNLOADS:
            self.files.loaded |= {posixpath.basename(each.target.source) for each in command.redirects if writes(each)}
        program, arguments = innermost(words)
        document = fed_text(command, self.values.known)
        if document is not None and interprets(program) and reads_script(program, arguments):
            self._run(program, document)
        elif document is not None and removal(document) and program not in {"cat", "tee"}:
            self._find("critical", f"What {program} is fed with, if it runs it, removes for good.")
        fed_by = [part for word in command.words for part in word.parts if getattr(part, "feeds", False)]
        fed_file = any(each.operator in {"<", "<>"} for each in command.redirects)
        if (fed_by or (fed_file and reads_script(program, arguments))) and interprets(program):
            self._find("high", f"{program} runs what another command prints.")
        if program in programs_of("databases") and (document is not None or fed_file):
            self.findings += rate_statements(program, document)
        self.argv(words)
        return words

    def argv(self, words: Sequence[Field]) -> None:
        """Walk through one command whose words are known; the first is its program."""
        name = words[0]
        self._named(name, words[1:])
        program, arguments = program_name(name.text), words[1:]
        self.programs.add(program)
        if [word.text for word in arguments] in (["--help"], ["--version"]) and not (name.dynamic or name.pattern):
            if "/" in name.text:
                self.files.add(NamedPath(name.text))
            return
        if name.text in self._functions:
            return
        if self.values.declare(name.text, arguments):
            return
        if _ASSIGNS.match(name.text) and arguments:
            self._unit(arguments)
            self.argv(arguments)
        if "/" in name.text:
            self.files.add(NamedPath(name.text, dynamic=name.dynamic))
        self.files.add_all(program, arguments, computing=self._computing > 0)
        risk = rate_program(program, Options.of(tuple(word.text for word in arguments)))
        if risk is not None:
            self.findings.append(risk)
        if program in {"echo", "printf"} and any(word.dynamic and _CREDENTIAL.search(word.text) for word in arguments):
            self._find("high", "Shows a credential of the environment.")
        self.files.download(program, words)
        self.files.name_sensitive(program, arguments, computing=self._computing > 0)
        self._code(program, arguments)
        self._module(program, arguments)
        self._inner(program, arguments)
        self._disguised(program, arguments, known=is_read(program))

    def _named(self, name: Field, arguments: Sequence[Field]) -> None:
        """Check a program's name by itself: whether it is computed, a pattern, or only looks like another one."""
        if not name.text.isascii() and not name.dynamic:
            self._find("high", f"The program's name is not plain: {name.text!a}.")
        if name.dynamic or not name.text:
            self._find("high", f"What it runs is only known when it runs: {name.text}.")
        if name.pattern:
            self._matched(name, arguments)

    def _inner(self, program: str, arguments: Sequence[Field]) -> None:
        """Walk through the commands that *program* runs; rates it if it deletes many files."""
        if program in _DELETING and (
            self._repeating or any(word.text in {"*", "./*", ".", "*.*"} for word in arguments)
        ):
            self._find("critical", "Deletes every file that it finds.")
        elif program in _DELETING - {"mv"} and any(word.pattern for word in arguments):
            self._find("high", "Deletes every file that matches.")
        self._repeating += program in _REPEATING
        for inner in inner_commands(program, arguments):
            if inner.words:
                self._wrapped(inner.words)
            else:
                self._inner_text(inner.script, dynamic=inner.dynamic)
        self._repeating -= program in _REPEATING

    def _wrapped(self, words: Sequence[Field]) -> None:
        if self._wrappers >= _DEEPEST:
            raise Unreadable("Its commands run other commands too many levels deep to be checked.")
        self._wrappers += 1
        self._unit(words)
        self.argv(words)
        self._wrappers -= 1

    def _matched(self, name: Field, arguments: Sequence[Field]) -> None:
        """Walk through each program that a pattern in a program's place could match."""
        self._find("high", f"What it runs depends on which files exist: {name.text}.")
        pattern = program_name(name.text)
        if len(pattern) > LONGEST_PATTERN:
            raise Unreadable("A pattern in place of a program's name is too long to be checked.")
        for program in fnmatch.filter(_names(), pattern)[:_MOST_NAMES]:
            words = [Field(program), *arguments]
            self._unit(words)
            self.argv(words)

    def _module(self, program: str, arguments: Sequence[Field]) -> None:
        """Handle ``python -m NAME``: another program, a script, or code on the command line."""
        if program.rstrip("0123456789.") not in _PYTHONS:
            return
        at, name = module_of([word.text for word in arguments])
        if not name:
            return
        rest, kind = list(arguments[at:]), module_kind(name)
        if kind is not None and [word.text for word in rest] in (["--help"], ["-h"]):
            return
        if "$" in name:
            self._find("high", f"What it runs is only known when it runs: -m {name}.")
        if kind == "program":
            words = [Field(name.lower()), *rest]
            self._unit(words)
            self.argv(words)
        elif kind == "script":
            if not any(_is_script(word) for word in rest) or any(word.text in {"-c", "-m"} for word in rest):
                self._find("high", f"Runs code with Python's {name}.")
        elif kind is not None and kind not in {"none", "low"}:
            self._find(kind, f"Python's {name} runs code, or opens a connection.")
        if kind in {"high", "script"}:
            self.findings += [rate_code(word.text) for word in rest if not word.text.startswith("-")]

    def _code(self, program: str, arguments: Sequence[Field]) -> None:
        """Rate code given by an option (``python -c``), and find the sensitive files that it names in quotes."""
        options = INLINE.get(program) or INLINE.get(program.rstrip("0123456789.")) or ()
        for at, word in enumerate(arguments):
            name, equals, value = word.text.partition("=")
            if equals and name.startswith("--") and name in options:
                following = Field(value, word.dynamic)
            elif any(gives(word.text, option) for option in options):
                following = arguments[at + 1] if at + 1 < len(arguments) else Field("")
            else:
                continue
            self.findings.append(rate_code(following.text))
            for path in filter(secret, quoted(following.text)):
                self.files.name(path)
            if following.dynamic:
                self._find("high", "The code it runs is only known when it runs.")
            return

    def _inner_text(self, text: str, *, dynamic: bool) -> None:
        """Walk through a script inside a command; an unreadable one is a finding, as it would hide what it does."""
        if dynamic:
            self._find("high", "The script it runs is only known when it runs.")
        try:
            self.text(text)
        except Unreadable as error:
            if not dynamic:
                self._find("high", f"The script inside could not be read: {error.message}")

    def _disguised(self, program: str, arguments: Sequence[Field], *, known: bool) -> None:
        """Find arguments that would be dangerous if something ran them, as it is unknown what is done with them."""
        before = len(self.findings)
        programs = [program_name(word.text) for word in arguments]
        for at, word in enumerate(arguments[:_MOST]):
            if programs[at] in SUPERUSER - {"su", "install"} and not word.text.startswith("-"):
                self._find("high", f"Mentions {word.text}, which gives administrator rights.")
            for text in insides(word.text) if self._depth < _DEEPEST else ():
                if removal(text):
                    self._find("critical", f"One of {program}'s arguments, if something runs it, removes for good.")
                elif " " in text.strip():
                    self._imagine(program, lambda inside, text=text: inside.text(text))  # type: ignore[misc]
        begins = [at for at, name in enumerate(programs[:_MOST]) if name in _BEGINS or name in SHELLS]
        for at in begins if not known and self._depth < _DEEPEST else ():
            self._imagine(program, lambda inside, at=at: inside.argv(arguments[at:]))  # type: ignore[misc]
            if program not in known_programs():
                self._unit(arguments[at:])
        if is_only_text(program, [word.text for word in arguments], only_shown=self._only_shown):
            self.unused += self.findings[before:]
            del self.findings[before:]

    def _imagine(self, program: str, run: Callable[[Walk], None]) -> None:
        """Add the critical findings that *run* would make if *program* ran one of its arguments."""
        inside = Walk(self._dialect, self.files.patterns)
        inside._depth = self._depth + 4
        with contextlib.suppress(Unreadable):
            run(inside)
        self.findings += [
            Risk(finding.severity, f"One of {program}'s arguments, if something runs it: {finding.reason}")
            for finding in inside.findings
            if finding.severity == "critical"
        ]

    def _unit(self, words: Sequence[Field], writes: Sequence[str] = (), powers: Sequence[str] = ()) -> None:
        """Keeps a command as one line for the rules, with the variables and redirections that belong to it."""
        line = " ".join(word.text if word.dynamic else shlex.quote(word.text) for word in words)
        self.units.append(" ".join([*self._variables, *powers, line, *writes]))

    def _redirect(self, redirect: Redirect) -> None:
        """Handle a redirection and the file that it reads or writes, even one that the shell computes."""
        self._computes(redirect.word)
        for place in fields(redirect.target, self.values.known) if not redirect.document else ():
            if redirect.operator != "<<<" and not (redirect.operator.endswith("&") and place.text.strip("-").isdigit()):
                self.files.add(NamedPath(place.text, writes=writes(redirect), dynamic=place.dynamic))
            if writes(redirect) or place.text.startswith(("/dev/tcp/", "/dev/udp/")):
                risk = target(place.text)
                if risk is not None:
                    self.findings.append(risk)
                elif place.text != "/dev/null":
                    self._find("high" if place.dynamic else "medium", f"Writes to {place.text}.")
                if sensitive_pattern(place.text, self.files.patterns):
                    self.files.name(place.text)
            elif redirect.operator in {"<", "<>"} and secret(place.text):
                self.files.name(place.text)

    def _assign(self, name: str, value: Word) -> None:
        """Handle ``NAME=value``: a known value replaces ``$NAME`` later; otherwise ``$NAME`` stays unknown."""
        self._computes(value)
        if removal(value.source):
            self._find("critical", f"{name}, if something runs it, removes for good.")
        known = fields(value, self.values.known)
        fixed = " ".join(field.text for field in known) if not any(field.dynamic for field in known) else None
        if known:
            self.values.search_in(name, known[0].text)
        self.values.assign(name, fixed)

    def _computes(self, word: Word) -> None:
        """Walk through the command substitutions in *word*: they run, but a ``cd`` in them has no effect afterwards."""
        self._computing += 1
        before = self.files.through
        for script in word.scripts:
            self.script(script)
        self.files.through = before
        self._computing -= 1

    def _find(self, severity: str, reason: str) -> None:
        self.findings.append(Risk(severity, reason))  # type: ignore[arg-type] # literals of this module


def _is_waited_for(script: ShellScript) -> bool:
    """True if a later command of *script* waits for or ends what it sends to the background."""
    later = script.commands[min(script.background) + 1 :]
    names = {each.words[0].fixed for each in later if isinstance(each, Simple) and each.words}
    return bool(names & {"wait", "kill", "fg"}) and max(script.background) < len(script.commands) - 1


def _is_script(word: Field) -> bool:
    return word.text.endswith((".py", ".ipy", ".pyz")) and not word.dynamic and not word.text.startswith(("-", "/dev/"))


def _only_reads_text(command: Command) -> bool:
    """True if a command of a pipeline only shows what it is fed, and neither runs nor writes it."""
    return (
        isinstance(command, Simple)
        and bool(command.words)
        and command.words[0].source in programs_of("readers")
        and not any(map(writes, command.redirects))
    )
