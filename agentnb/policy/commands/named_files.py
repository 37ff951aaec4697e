"""The files that a script names: with the folders that it may have gone to before, and whether they are sensitive."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from agentnb.policy.commands.names import interprets
from agentnb.policy.commands.paths import named, only_reads, places, secret, without_bytes, writes_files
from agentnb.policy.commands.streams import DOWNLOADS
from agentnb.policy.commands.table import programs_of
from agentnb.policy.sensitive import sensitive_pattern
from agentnb.policy.severity import Risk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.policy.commands.paths import NamedPath
    from agentnb.policy.sensitive import Patterns
    from agentnb.policy.shell.expand import Field

_ENTERING = frozenset({"cd", "pushd", "popd", "chdir"})
_TALKS = frozenset({"echo", "printf", "true", "false", ":", "exit", "head", "tail", "wc", "sort", "grep", "cat"})


class NamedFiles:
    """The files of one walk; what is to be said about them goes to its *findings*."""

    def __init__(self, findings: list[Risk], patterns: Patterns) -> None:
        self.patterns = patterns
        self.places: list[NamedPath] = []
        self.sensitive: str | None = None
        self.through: tuple[str, ...] = ()
        self.sure = True
        self.loaded: set[str] = set()
        self._findings = findings
        self._entered: set[NamedPath] = set()

    def all(self, programs: set[str]) -> list[NamedPath]:
        """The files; a folder that ``cd`` goes to is only listed where the *programs* do nothing but list."""
        if programs <= programs_of("listing") | _TALKS:
            return self.places
        return [place._replace(lists=False) if place in self._entered else place for place in self.places]

    def add(self, place: NamedPath) -> None:
        """Keep a file together with the folders that the script may have gone to before."""
        self.places.append(place._replace(through=self.through, sure=self.sure))

    def add_all(self, program: str, arguments: Sequence[Field], *, computing: bool) -> None:
        """Keep the files among the arguments of *program*; it may take the shell elsewhere."""
        for place in places(program, arguments, computing=computing):
            self.add(place)
            if program in _ENTERING:
                self._entered.add(self.places[-1])
        if program in _ENTERING:
            wanted = [word.text for word in arguments if word.text == "-" or not word.text.startswith("-")]
            self.through = (*self.through, "-" if program == "popd" else wanted[0] if wanted else "~")

    def name_sensitive(self, program: str, arguments: Sequence[Field], *, computing: bool) -> None:
        """The sensitive files among the arguments. What ``echo`` prints is text, unless something else reads it."""
        if program in {"echo", "printf", "true", ":"} and not computing:
            return
        changes = writes_files(program) and not only_reads(program, arguments)
        for word in arguments:
            for path in named(without_bytes(word.text) if interprets(program) else word.text):
                if secret(path) or (changes and sensitive_pattern(path, self.patterns)):
                    self.name(path)

    def name(self, path: str) -> None:
        """A sensitive file is named: a finding, and the first one is kept for the card."""
        self.sensitive = self.sensitive or path
        what = "named like a secret" if secret(path) else "that decides what runs later"
        self._findings.append(Risk("high", f"May touch a file {what}: {path}."))

    def download(self, program: str, words: Sequence[Field]) -> None:
        """Remember files that a download writes, and find commands that run one of them."""
        texts = [word.text for word in words[1:]]
        if program in DOWNLOADS:
            self.loaded |= {posixpath.basename(text) for word in texts for text in named(word)}
            return
        runs = texts if interprets(program) or program in {"source", ".", "chmod"} else [words[0].text]
        if self.loaded.intersection(map(posixpath.basename, runs)):
            self._findings.append(Risk("high", "Runs what it loads from the network without checking it."))
