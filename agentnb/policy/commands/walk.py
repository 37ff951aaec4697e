"""Walks through a shell script and collects what is to be said about it. Nothing is run.

In goes a script as text, with the variables that are set for it. Out come findings (a severity and a sentence each),
the commands in it, one line each, for rules to match, and the files that they name. What can be known of a variable, a
substitution or a pipe without running anything is put in; what cannot is a finding of its own, *high* at least, so
that hiding a command never makes it look better than showing it. Commands inside commands (``sudo``, ``find -exec``,
``sh -c``) are walked through in the same way, up to a depth of twelve; a script that is nested deeper counts as
unreadable, which always asks. Not checked: what a program does when it runs.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import posixpath
import re
import shlex
from typing import TYPE_CHECKING

from agentnb.policy.commands.code import INLINE, rate_code
from agentnb.policy.commands.disguise import insides, odd_name, removal, tails
from agentnb.policy.commands.files import target
from agentnb.policy.commands.mentions import named, quoted, secret, writes_files
from agentnb.policy.commands.names import calls_itself, gives, innermost, interprets, module_of, program_name, writes
from agentnb.policy.commands.options import Options
from agentnb.policy.commands.paths import NamedPath, only_reads, places
from agentnb.policy.commands.programs import SUPERUSER, is_read, rate_program
from agentnb.policy.commands.streams import DECODES, DOWNLOADS, echoed
from agentnb.policy.commands.table import databases, known_programs, module_kind, programs_of, rate_by_table
from agentnb.policy.commands.variables import ANYBODYS, Values, decides, filled, runs_programs
from agentnb.policy.commands.wrappers import SHELLS, inner_commands, reads_script
from agentnb.policy.glob import LONGEST_PATTERN
from agentnb.policy.sensitive import SENSITIVE, sensitive_pattern
from agentnb.policy.severity import Risk
from agentnb.policy.shell.expand import Field, fields
from agentnb.policy.shell.parser import Unreadable, parse
from agentnb.policy.shell.tree import Compound, Function, Pipeline, ShellScript, Simple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentnb.policy.sensitive import Patterns
    from agentnb.policy.shell.parser import Dialect
    from agentnb.policy.shell.tree import Command, Redirect, Word

_ENTERING = frozenset({"cd", "pushd", "popd", "chdir"})
_TALKS = frozenset({"echo", "printf", "true", "false", ":", "exit", "head", "tail", "wc", "sort", "grep", "cat"})
_DELETING = frozenset({"rm", "unlink", "rmdir", "shred", "trash", "truncate", "del", "mv"})
_REPEATING = frozenset({"find", "fd", "fdfind", "xargs", "parallel", "sem"})
_PYTHONS = frozenset({"python", "pypy", "py"})
_PRINT_NOTHING = (["cat", "/dev/null"], ["echo", "-n"], ["echo", "-n", ""], ["printf", ""], ["printf", "%s", ""])
_SEARCHES = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"})
_TEXT_VERBS = frozenset({"log", "grep", "commit", "show", "shortlog", "blame", "tag", "stash"})
_MOST_NAMES = 24
_DEEPEST = 12
_MOST = 64
_CREDENTIAL = re.compile(r"\$\w*(?:SECRET|TOKEN|PASSW|API_?KEY|ACCESS_?KEY|CREDENTIAL)")
_ASSIGNS = re.compile(r"[A-Za-z_]\w*=")
_JOINED = re.compile(r"[;\n]|\|\||(?<![&>])&(?![&>])|\b(?:if|for|while|until|case|function)\b")


@functools.cache
def _names() -> list[str]:
    """The programs that a pattern in a program's place is tried on, those that do the most damage first."""
    first = ("rm", "sh", "bash", "dd", "mv", "git", "find", "sudo", "curl", "python", "shred", "cp", "wget", "eval")
    return list(dict.fromkeys([*first, *sorted(known_programs() | SHELLS | set(INLINE))]))


class Walk:
    """One walk."""

    def __init__(
        self,
        dialect: Dialect,
        patterns: Patterns = SENSITIVE,
        env: Sequence[tuple[str, str]] = (),
        unsure: Iterable[str] = (),
    ) -> None:
        self.findings: list[Risk] = []
        self.unused: list[Risk] = []
        self.places: list[NamedPath] = []
        self.units: list[str] = []
        self.sensitive: str | None = None
        self._dialect = dialect
        self._patterns = patterns
        self.values = Values(unsure)
        self._functions: dict[str, ShellScript] = {}
        self._loaded: set[str] = set()
        self._depth = 0
        self._computing = 0
        self._wrappers = 0
        self._through: tuple[str, ...] = ()
        self._programs: set[str] = set()
        self._repeating = 0
        self._entered: set[NamedPath] = set()
        self._sure = True
        self._grouped = 0
        self._only_shown = False
        self._given = tuple(f"{name}={shlex.quote(value)}" for name, value in env if decides(name))
        for name, value in env:
            if removal(value):
                self._find("critical", f"{name}, if something runs it, removes for good.")
            self._set(name, value)

    def script(self, script: ShellScript) -> None:
        """Walk through *script*."""
        for command in script.commands:
            self._command(command)
        if script.background and not _is_waited_for(script):
            self._find("high", "Leaves something running when the command is over.")

    def all_places(self) -> list[NamedPath]:
        """The files that are named; a folder that ``cd`` goes to is only listed where nothing but listing is done."""
        if self._programs <= programs_of("listing") | _TALKS:
            return self.places
        return [place._replace(lists=False) if place in self._entered else place for place in self.places]

    def text(self, text: str) -> None:
        """Walk through the script *text*."""
        if self._depth >= _DEEPEST:
            raise Unreadable("It is nested too deep to be followed.")
        self._depth += 1
        self._sure = self._sure and _JOINED.search(text) is None
        try:
            self.script(parse(text, self._dialect, self._depth))
        finally:
            self._depth -= 1

    # --- the tree ---

    def _command(self, command: Command) -> None:
        """One node of the parsed script, by its kind."""
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
                    self._find("critical", "A fork bomb: it starts itself over and over.")
                self._grouped += 1
                self.script(command.body)
                self._grouped -= 1

    def _compound(self, command: Compound) -> None:
        """A loop, condition, group or subshell: each body is walked through, as if the shell ran all of them."""
        for word in command.words:
            self._computes(word)
            for each in fields(word, self.values.known) if command.kind in {"for", "select"} else ():
                self._place(NamedPath(each.text, dynamic=each.dynamic))
        for redirect in command.redirects:
            self._redirect(redirect)
        if command.name is not None:
            self.values.set(command.name, None)
        before = self._through
        repeats = command.kind in {"for", "while", "until", "select"}
        self._repeating += repeats
        self._grouped += 1
        for body in command.bodies:
            self.script(body)
        self._grouped -= 1
        self._repeating -= repeats
        if command.kind == "subshell":
            self._through = before

    def _pipeline(self, pipeline: Pipeline) -> None:
        """Commands joined by pipes; a text that one prints for certain is what the next one is fed."""
        carried: str | None = None
        programs: list[str] = []
        before = self._through
        for place, command in enumerate(pipeline.commands):
            self._through = before
            if not isinstance(command, Simple):
                self._command(command)
                carried = None
                continue
            words = self._simple(command, followed=pipeline.commands[place + 1 :])
            program, arguments = innermost(words)
            if place and interprets(program) and reads_script(program, arguments):
                self._fed(program, carried, programs)
            if place and program in databases():
                self._asked(program, carried)
            if place and carried and words and program_name(words[0].text) in {"xargs", "parallel", "sem", "entr"}:
                self._inner_text(f"{program} {' '.join(each.text for each in arguments)} {carried}", dynamic=False)
            fed = self._document(command) or carried
            carried = echoed(program, arguments, fed) if program else None
            programs.append(program)
        self._through = before

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

    def _asked(self, client: str, text: str | None) -> None:
        """A database's client runs the statements that it is fed."""
        if text is None:
            self._find("high", f"{client} runs what it is fed, unseen.")
            return
        for words in (("-c", text), tuple(text.split())):
            if (found := rate_program(client, Options.of(words))) is not None:
                self.findings.append(found)

    def _run(self, program: str, text: str) -> None:
        """*text* is code for *program*: walked through if that is a shell, else rated as code."""
        if program in SHELLS or program in {"source", ".", "eval"}:
            self._inner_text(text, dynamic=False)
        else:
            self.findings.append(rate_code(text))

    # --- one command ---

    def _simple(self, command: Simple, followed: Sequence[Command] = ()) -> list[Field]:
        """One command as the parser gives it: variables and substitutions are put in. Returns its words."""
        before = {name: self.values.known.get(name) for name, _ in command.assignments}
        for name, value in command.assignments:
            self._assign(name, value)
        words = self._one(command, followed)
        if words:  # what stood in front of them was for this command only
            for name, known in before.items():
                self.values.restore(name, known)
            self._fills(program_name(words[0].text), words[1:])
        return words

    def _fills(self, program: str, arguments: Sequence[Field]) -> None:
        """The variables that the command has changed by now, in ways that only the running shell knows."""
        for name in filled(program, arguments):
            self.values.set(name, None)
        if program in {"source", "."}:
            self.values.doubt_all()

    def _one(self, command: Simple, followed: Sequence[Command]) -> list[Field]:
        """The words of one command and its redirections. Returns the words."""
        for word in command.words:
            self._computes(word)
        words = [field for word in command.words for field in fields(word, self.values.known)]
        for redirect in command.redirects:
            self._redirect(redirect)
        self._empties(command, words)
        if not words:
            return words
        self._only_shown = not (
            self._grouped or self._computing or self._depth > 1 or any(map(writes, command.redirects))
        ) and all(map(_only_reads_text, followed))
        powers = [f"{name}={value.source.partition('=')[2]}" for name, value in command.assignments if decides(name)]
        written = [f"{each.operator} {each.target.source}" for each in command.redirects if writes(each)]
        self._unit(words, written, powers)
        if program_name(words[0].text) in DOWNLOADS:
            self._loaded |= {posixpath.basename(each.target.source) for each in command.redirects if writes(each)}
        program, arguments = innermost(words)
        document = self._document(command)
        if document is not None and interprets(program) and reads_script(program, arguments):
            self._run(program, document)
        elif document is not None and removal(document) and program not in {"cat", "tee"}:
            self._find("critical", f"What {program} is fed with, if it runs it, removes for good.")
        fed_by = [part for word in command.words for part in word.parts if getattr(part, "feeds", False)]
        fed_file = any(each.operator in {"<", "<>"} for each in command.redirects)
        if (fed_by or (fed_file and reads_script(program, arguments))) and interprets(program):
            self._find("high", f"{program} runs what another command prints.")
        if program in databases() and (document is not None or fed_file):
            self._asked(program, document)
        self.argv(words)
        return words

    def argv(self, words: Sequence[Field]) -> None:
        """Walk through one command whose words are known: its program first."""
        name = words[0]
        self._named(name, words[1:])
        program, arguments = program_name(name.text), words[1:]
        self._programs.add(program)
        if [word.text for word in arguments] in (["--help"], ["--version"]) and not (name.dynamic or name.pattern):
            self._place(NamedPath(name.text) if "/" in name.text else None)
            return
        if name.text in self._functions:
            return
        if self._powers(name.text, arguments):
            return
        if _ASSIGNS.match(name.text) and arguments:
            self._unit(arguments)
            self.argv(arguments)
        self._place(NamedPath(name.text, dynamic=name.dynamic) if "/" in name.text else None)
        for place in places(program, arguments, computing=self._computing > 0):
            self._place(place)
            if program in _ENTERING:
                self._entered.add(self.places[-1])
        if program in _ENTERING:
            self._enter(program, arguments)
        found = rate_program(program, Options.of(tuple(word.text for word in arguments)))
        if found is not None:
            self.findings.append(found)
        if program in {"echo", "printf"} and any(word.dynamic and _CREDENTIAL.search(word.text) for word in arguments):
            self._find("high", "Shows a credential of the environment.")
        self._downloads(program, words)
        self._files(program, arguments)
        self._code(program, arguments)
        self._module(program, arguments)
        self._inner(program, arguments)
        self._disguised(program, arguments, known=is_read(program))

    def _named(self, name: Field, arguments: Sequence[Field]) -> None:
        """What a program's name says by itself: that it is computed, a pattern, or only looks like another one."""
        if (odd := odd_name(name.text)) is not None and not name.dynamic:
            self.findings.append(odd)
        if name.dynamic or not name.text:
            self._find("high", f"What it runs is only known when it runs: {name.text}.")
        if name.pattern:
            self._matched(name, arguments)

    def _inner(self, program: str, arguments: Sequence[Field]) -> None:
        """The commands that *program* runs, and whether it deletes once for each of many files."""
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
        """A command that another one runs."""
        if self._wrappers >= _DEEPEST:
            raise Unreadable("Its commands run others too often to be followed.")
        self._wrappers += 1
        self._unit(words)
        self.argv(words)
        self._wrappers -= 1

    def _powers(self, program: str, arguments: Sequence[Field]) -> bool:
        """Builtins that set variables."""
        if program not in {"export", "declare", "typeset", "local", "readonly", "set"}:
            return False
        if removal(" ".join(word.text for word in arguments)):
            self._find("critical", f"{program}'s arguments, if something runs them, remove for good.")
        for word in arguments:
            name, equals, value = word.text.partition("=")
            if equals:
                self._searched(name.rstrip("+"), value)
                self._set(name.rstrip("+"), None if word.dynamic else value)
        if (found := rate_by_table(program, Options.of(tuple(word.text for word in arguments)))) is not None:
            self.findings.append(found)
        if not any("=" in word.text for word in arguments) and program in {"export", "declare", "set"}:
            self._find("low", "Prints or changes the shell's variables.")
        return True

    def _matched(self, name: Field, arguments: Sequence[Field]) -> None:
        """A program's name is a pattern: each program that it could be is looked at."""
        self._find("high", f"What it runs depends on which files there are: {name.text}.")
        pattern = program_name(name.text)
        if len(pattern) > LONGEST_PATTERN:
            raise Unreadable("A pattern in a program's place is too long to be tried.")
        for program in fnmatch.filter(_names(), pattern)[:_MOST_NAMES]:
            words = [Field(program), *arguments]
            self._unit(words)
            self.argv(words)

    def _module(self, program: str, arguments: Sequence[Field]) -> None:
        """``python -m NAME``: another program, a script, or code on the command line."""
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

    def _empties(self, command: Simple, words: Sequence[Field]) -> None:
        """``> file`` without anything that could be written to it."""
        silent = not words or program_name(words[0].text) in {":", "true", "false"}
        silent = silent or [word.text for word in words] in _PRINT_NOTHING
        read = {posixpath.normpath(word.text) for word in words[1:] if word.text}
        read |= {posixpath.normpath(each.target.source) for each in command.redirects if each.operator == "<"}
        for redirect in command.redirects:
            if redirect.operator in {">", ">|"} and posixpath.normpath(redirect.target.source) in read - {"/dev/null"}:
                self._find("critical", f"Empties {redirect.target.source} before it is read.")
        silent = silent or ("/dev/null" in read and program_name(words[0].text) in {"cat", "head", "tail"})
        if words and "/dev/null" in read and program_name(words[0].text) in {"tee", "dd"}:
            self._find("critical", f"Empties {words[-1].text}.")
        for redirect in command.redirects if silent else ():
            emptied = redirect.target.source
            if redirect.operator in {">", ">|", "&>"} and not emptied.startswith("/dev/"):
                self._find("critical", f"Empties {emptied}.")

    def _code(self, program: str, arguments: Sequence[Field]) -> None:
        """Code given by an option (``python -c``): rated, and the sensitive files that it names in quotes are found."""
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
                self._name(path)
            if following.dynamic:
                self._find("high", "The code it runs is only known when it runs.")
            return

    def _inner_text(self, text: str, *, dynamic: bool) -> None:
        """A script inside a command; one that cannot be read is a finding, as it would otherwise hide what it does."""
        if dynamic:
            self._find("high", "The script it runs is only known when it runs.")
        try:
            self.text(text)
        except Unreadable as error:
            if not dynamic:
                self._find("high", f"The script inside could not be read: {error.message}")

    def _disguised(self, program: str, arguments: Sequence[Field], *, known: bool) -> None:
        """Arguments that would be dangerous if something ran them: what becomes of them cannot be seen."""
        if self._is_text(program, arguments):
            before, self.findings = self.findings, []
            self._imagined(program, arguments, known=known)
            self.unused, self.findings = [*self.unused, *self.findings], before
        else:
            self._imagined(program, arguments, known=known)

    def _imagined(self, program: str, arguments: Sequence[Field], *, known: bool) -> None:
        programs = [program_name(word.text) for word in arguments]
        for at, word in enumerate(arguments[:_MOST]):
            if programs[at] in SUPERUSER - {"su", "install"} and not word.text.startswith("-"):
                self._find("high", f"Names {word.text}, which gives administrator rights.")
            for text in insides(word.text) if self._depth < _DEEPEST else ():
                if removal(text):
                    self._find("critical", f"One of {program}'s arguments, if something runs it, removes for good.")
                elif " " in text.strip():
                    self._imagine(program, lambda inside, text=text: inside.text(text))  # type: ignore[misc]
        for at in tails(programs, SHELLS) if not known and self._depth < _DEEPEST else ():
            self._imagine(program, lambda inside, at=at: inside.argv(arguments[at:]))  # type: ignore[misc]
            if program not in known_programs():
                self._unit(arguments[at:])

    def _is_text(self, program: str, arguments: Sequence[Field]) -> bool:
        """Whether the arguments are only searched for, kept or shown, so that nothing runs them."""
        texts = [word.text for word in arguments]
        if program in {"echo", "printf"}:
            return self._only_shown and "-v" not in texts[:1]  # `printf -v 'a[$(rm x)]'` runs what it is given
        if program in _SEARCHES:
            return not any(text.startswith(("--pre", "--pager", "--hostname-bin")) for text in texts)
        opens = any(text.startswith(("-O", "--open-files", "--exec", "--ext-diff", "--textconv")) for text in texts)
        return program == "git" and bool(texts) and texts[0] in _TEXT_VERBS and not opens

    def _imagine(self, program: str, run: Callable[[Walk], None]) -> None:
        """What *run* would find if *program* ran one of its arguments. Only critical findings count, as it may not."""
        inside = Walk(self._dialect, self._patterns)
        inside._depth = self._depth + 4
        with contextlib.suppress(Unreadable):
            run(inside)
        self.findings += [
            Risk(found.severity, f"One of {program}'s arguments, if something runs it: {found.reason}")
            for found in inside.findings
            if found.severity == "critical"
        ]

    def _downloads(self, program: str, words: Sequence[Field]) -> None:
        """Remembers files that a download writes, and finds commands that run one of them."""
        texts = [word.text for word in words[1:]]
        if program in DOWNLOADS:
            self._loaded |= {posixpath.basename(text) for word in texts for text in named(word)}
        runs = texts if interprets(program) or program in {"source", ".", "chmod"} else [words[0].text]
        if self._loaded.intersection(map(posixpath.basename, runs)) and program not in DOWNLOADS:
            self._find("high", "Runs what it loads from the network, unseen.")

    def _files(self, program: str, arguments: Sequence[Field]) -> None:
        """The sensitive files among the arguments. What ``echo`` prints is text, unless something else reads it."""
        if program in {"echo", "printf", "true", ":"} and not self._computing:
            return
        changes = writes_files(program) and not only_reads(program, arguments)
        for word in arguments:
            for path in named(word.text):
                if secret(path) or (changes and sensitive_pattern(path, self._patterns)):
                    self._name(path)

    def _name(self, path: str) -> None:
        """A sensitive file is named: a finding, and the first one is kept for the card."""
        pattern = sensitive_pattern(path, self._patterns)
        self.sensitive = self.sensitive or path
        matched = f" matches {pattern}" if pattern is not None else " may be one"
        self._find("high", f"Names a sensitive file: {path}{matched}.")

    # --- places ---

    def _place(self, place: NamedPath | None) -> None:
        """Keeps a file together with the folders that the script may have gone to before."""
        if place is not None:
            self.places.append(place._replace(through=self._through, sure=self._sure))

    def _enter(self, program: str, arguments: Sequence[Field]) -> None:
        """The shell goes elsewhere."""
        wanted = [word.text for word in arguments if word.text == "-" or not word.text.startswith("-")]
        self._through = (*self._through, "-" if program == "popd" else wanted[0] if wanted else "~")

    # --- pieces ---

    def _unit(self, words: Sequence[Field], writes: Sequence[str] = (), powers: Sequence[str] = ()) -> None:
        """Keeps a command as one line for the rules, with the variables and redirections that belong to it."""
        line = " ".join(word.text if word.dynamic else shlex.quote(word.text) for word in words)
        self.units.append(" ".join([*self._given, *powers, line, *writes]))

    def _redirect(self, redirect: Redirect) -> None:
        """A redirection: the file that it reads or writes, also one that the shell computes."""
        self._computes(redirect.word)
        for place in fields(redirect.target, self.values.known) if not redirect.document else ():
            if redirect.operator != "<<<" and not (redirect.operator.endswith("&") and place.text.strip("-").isdigit()):
                self._place(NamedPath(place.text, writes=writes(redirect), dynamic=place.dynamic))
            if writes(redirect) or place.text.startswith(("/dev/tcp/", "/dev/udp/")):
                found = target(place.text)
                if found is not None:
                    self.findings.append(found)
                elif place.text != "/dev/null":
                    self._find("high" if place.dynamic else "medium", f"Writes to {place.text}.")
                if sensitive_pattern(place.text, self._patterns):
                    self._name(place.text)
            elif redirect.operator in {"<", "<>"} and secret(place.text):
                self._name(place.text)

    def _document(self, command: Simple) -> str | None:
        """The text of the last here-document or here-string, which the command reads from stdin; None without one."""
        for redirect in reversed(command.redirects):
            if redirect.document or redirect.operator == "<<<":
                return " ".join(field.text for field in fields(redirect.word, self.values.known))
        return None

    def _assign(self, name: str, value: Word) -> None:
        """``NAME=value``: a known value is put in for ``$NAME`` later; otherwise ``$NAME`` stays unknown."""
        self._computes(value)
        if removal(value.source):
            self._find("critical", f"{name}, if something runs it, removes for good.")
        known = fields(value, self.values.known)
        fixed = " ".join(field.text for field in known) if not any(field.dynamic for field in known) else None
        if known:
            self._searched(name, known[0].text)
        self._set(name, fixed)

    def _searched(self, name: str, value: str) -> None:
        """A finding where programs or modules are searched for first in a folder that the agent may write to."""
        if name == "PATH" and value.startswith("."):
            self._find("high", "Looks for programs in the workspace first.")
        elif name in {"PATH", "PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB"} and value.startswith(ANYBODYS):
            self._find("high", f"Looks first in a folder to which every program can write, by {name}.")

    def _set(self, name: str, value: str | None) -> None:
        """Sets a variable, or forgets it (None). One that decides what is run (``PATH``) is a finding."""
        if decides(name):
            self._find(
                "high" if runs_programs(name, value) else "medium", f"Changes {name}, which decides what is run."
            )
        self.values.set(name, value)

    def _computes(self, word: Word) -> None:
        """Walks through the command substitutions in *word*: they run, and their ``cd`` ends with them."""
        self._computing += 1
        before = self._through
        for script in word.scripts:
            self.script(script)
        self._through = before
        self._computing -= 1

    def _find(self, severity: str, reason: str) -> None:
        """Adds a finding."""
        self.findings.append(Risk(severity, reason))  # type: ignore[arg-type] # literals of this module


def _is_waited_for(script: ShellScript) -> bool:
    """Whether what *script* sends to the background is waited for, or ended, by a later command of it."""
    later = script.commands[min(script.background) + 1 :]
    names = {each.words[0].fixed for each in later if isinstance(each, Simple) and each.words}
    return bool(names & {"wait", "kill", "fg"}) and max(script.background) < len(script.commands) - 1


def _is_script(word: Field) -> bool:
    """Whether *word* is a Python file by its name, not something that is fed."""
    return word.text.endswith((".py", ".ipy", ".pyz")) and not word.dynamic and not word.text.startswith(("-", "/dev/"))


def _only_reads_text(command: Command) -> bool:
    """Whether a command of a pipeline shows what it is fed, and neither runs nor writes it."""
    return (
        isinstance(command, Simple)
        and bool(command.words)
        and command.words[0].source in programs_of("readers")
        and not any(map(writes, command.redirects))
    )
