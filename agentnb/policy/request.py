"""A request that the policy judges, and the situation in which it is made."""

from __future__ import annotations

import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from agentnb.credentials import Credentials
from agentnb.policy.commands.paths import decides
from agentnb.policy.keys import EDITS, CellReview, Freedom, Mode, capped, lowest
from agentnb.policy.rules import InForce, Outcome, PolicySubject, Source
from agentnb.policy.sensitive import SENSITIVE
from agentnb.policy.settings import PolicySettings
from agentnb.policy.severity import Severity
from agentnb.policy.shell.words import script_of, split_words
from agentnb.policy.workspace import own_patterns
from agentnb.state import ToolCallCell, ToolContent, ToolDiffContent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentnb.policy.sensitive import Patterns
    from agentnb.state import ConfirmationOption

RequestKind: TypeAlias = Literal["permission", "read", "write", "terminal", "kernel", "cell", "delete", "move"]

_TOOLS: dict[RequestKind, str] = {"write": "edit", "terminal": "execute"}
"""The tools of the kinds that are called otherwise in rules."""
_MOST = 64


class PolicyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an agent wants to do."""

    kind: RequestKind
    title: str
    path: str | None = None
    command: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    preview: tuple[ToolContent, ...] | None = None
    asked: str | None = None
    paths: tuple[str, ...] = ()
    call: tuple[str, str] | None = None
    cell: ToolCallCell | None = None
    concern: str = ""
    """The serious part of the request, as a sentence; empty if its command, code or files show it."""
    vague: bool = False
    again: bool = False

    @property
    def tool(self) -> str:
        """The tool kind in rules: an ACP ``ToolKind``, ``"kernel"`` or ``"cell"``; ``"execute"`` for a command."""
        if self.kind != "permission":
            return _TOOLS.get(self.kind, self.kind)
        if self.command is not None and self.asked not in {"other", "kernel", "cell"}:
            return "execute"
        return self.asked or "other"

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the request is about; a command's folder is not one of them."""
        if self.kind in {"read", "write", "cell", "delete"}:
            return (self.path,) if self.path is not None else ()
        return self.paths

    @property
    def prefix(self) -> str:
        """Returns the variables set for the command, to show in front of it, with credentials hidden."""
        hidden = Credentials(dict(self.env)).hidden_in_command
        return "".join(hidden(f"{name}={shlex.quote(value)} ") for name, value in self.env)

    @property
    def line(self) -> str | None:
        """The command with its variables, to show to people; None if there is none."""
        return None if self.command is None else f"{self.prefix}{self.command}"

    def covered_by(self, other: PolicyRequest) -> bool:
        """True if permission for *other* clearly covers this request: it is the same, done in the same way.

        That is: a command in the same folder; a read of the same file; a write that makes exactly the change that was
        shown; the same code for the kernel; a cell change by the same call.
        """
        if other.kind != "permission":
            return False
        match self.kind:
            case "terminal":
                return self._same_command(other)
            case "read":
                return other.asked == "read" and other.command is None and self.path in other.paths
            case "write":
                return other.asked in {"edit", "other"} and other.command is None and self._same_change(other)
            case "kernel":
                return other.tool == "kernel" and self.command is not None and self.command == other.command
            case "cell":
                return other.tool == "cell" and self.call is not None and self.call == other.call
            case _:
                return False

    def _same_command(self, other: PolicyRequest) -> bool:
        if self.command is None or other.command is None or other.asked not in {"execute", "other"}:
            return False
        deciding = [dict(pair for pair in request.env if decides(pair[0])) for request in (self, other)]
        scripts = _scripts(self.command) | {_without_cd(each, self.path) for each in _scripts(self.command)}
        same = not scripts.isdisjoint(_scripts(other.command))
        return same and self.path == other.path and deciding[0] == deciding[1]

    def _same_change(self, other: PolicyRequest) -> bool:
        """True if the text to be written is the file's text with the change that *other* showed."""
        written = [each for each in diffs(self.preview) if each.path == self.path]
        changes = [each for each in diffs(other.preview) if each.path == self.path]
        return bool(changes and written) and _unix(written[-1].new_text) in _results(
            written[-1].old_text or "", changes
        )


def diffs(content: Iterable[object] | None) -> list[ToolDiffContent]:
    return [each for each in content or () if isinstance(each, ToolDiffContent)]


def _results(old: str, changes: list[ToolDiffContent]) -> set[str]:
    """Returns what a file with the text *old* can become when *changes* are applied in order."""
    texts = {_unix(old)}
    for change in changes:
        before, after = _unix(change.old_text or ""), _unix(change.new_text)
        texts = {each for text in texts for each in _changed(text, before, after)} if before else {after}
    return texts


def _changed(text: str, before: str, after: str) -> Iterator[str]:
    """Yields *text* with *before* replaced by *after*: at each single occurrence, and at all of them."""
    if before not in text:
        return
    yield text.replace(before, after)
    at = text.find(before)
    for _ in range(_MOST):
        if at < 0:
            return
        yield text[:at] + after + text[at + len(before) :]
        at = text.find(before, at + 1)


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _without_cd(command: str, folder: str | None) -> str:
    """Returns the command line without a leading ``cd`` to the folder in which it runs anyway (Kimi)."""
    for spelled in (shlex.quote(folder or ""), f"'{folder}'", f'"{folder}"'):
        if folder and command.startswith(f"cd {spelled} && "):
            return command[len(f"cd {spelled} && ") :]
    return command


def _scripts(command: str) -> set[str]:
    """Returns the command line, and if it only has a shell run a script (``sh -c SCRIPT``), also that script."""
    try:
        script = script_of(split_words(command))
    except ValueError:
        script = None
    return {command} if script is None else {command, script}


Decider: TypeAlias = Literal[
    "rule", "mode", "freedom", "preview", "reading", "bypass", "review", "headless", "floor", "user", "nobody"
]
"""The source of a verdict: a policy rule, the session's mode, its freedom, a preview, a floor that no mode lowers, the
user, or the absence of a user."""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """The circumstances of a request: the agent, the workspace, and the rules in force."""

    agent: str
    mode: Mode = "ask"
    attached: bool = True
    root: PurePath = PurePath("/")
    directories: tuple[PurePath, ...] = ()
    user: PolicySettings = PolicySettings()
    project: PolicySettings = PolicySettings()
    grants: tuple[InForce, ...] = ()
    headless: Literal["allow", "deny"] | None = None
    cell_review: CellReview | None = None
    trusted: bool = False
    confined: bool = False
    sensitive: tuple[tuple[str, bool], ...] = ()

    @property
    def ceiling(self) -> Freedom | None:
        """The most freedom that the policy files allow; None if they set no limit."""
        return lowest((self.user.freedom_at_most, self.project.freedom_at_most))

    @property
    def here(self) -> Situation:
        """Returns the situation with the mode that the ceiling allows and the rules that apply in this workspace."""
        ceiling = self.ceiling
        if ceiling is None and not any(each.rule.folder for each in (*self.user.rules, *self.project.rules)):
            return self
        has_own_ceiling = self.project.freedom_at_most is not None
        return msgspec.structs.replace(
            self,
            mode=capped(self.mode, ceiling),
            headless="deny" if has_own_ceiling else self.headless,
            user=msgspec.structs.replace(
                self.user,
                rules=self._held(self.user.rules),
                bypass=self.user.bypass if ceiling is None else frozenset(),
            ),
            project=msgspec.structs.replace(self.project, rules=self._held(self.project.rules)),
        )

    def _held(self, rules: tuple[InForce, ...]) -> tuple[InForce, ...]:
        return tuple(each for each in rules if each.rule.holds_in(self.root))

    @property
    def review(self) -> CellReview:
        """Returns when a change of a cell is reviewed.

        A project can only require review first; Edit and Auto review afterwards; the user's file counts if trusted.
        """
        if self.project.cell_review == "first":
            return "first"
        if self.mode in EDITS:
            return "after"
        standing = self.user.cell_review if self.trusted else None
        return self.cell_review or standing or "first"

    @property
    def patterns(self) -> Patterns:
        """The patterns of sensitive files: the built-in ones, then the user's, then the project's."""
        merged = {**SENSITIVE, **dict.fromkeys(own_patterns(self.root), True)}
        for pattern, sensitive in (*self.user.sensitive, *self.project.sensitive, *self.sensitive):
            merged.pop(pattern, None)  # moves it to the end: the last matching pattern wins
            merged[pattern] = sensitive
        return merged


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    outcome: Outcome
    reason: str
    severity: Severity = "none"
    risk: str = ""
    decided_by: Decider = "mode"
    rule: str | None = None
    source: Source = "default"
    floor: str | None = None
    subjects: tuple[PolicySubject, ...] = ()
    distrusted: bool = False


_PREFERRED = {True: ("allow_once", "allow_always"), False: ("reject_once", "reject_always")}


def choose_option(options: Sequence[ConfirmationOption], *, allow: bool) -> ConfirmationOption | None:
    """Returns the narrowest of *options* that allows (or denies); None if there is none."""
    side = "approve" if allow else "deny"
    for kind in _PREFERRED[allow]:
        for option in options:
            if option.option_kind == kind:
                return option
    return next((option for option in options if option.kind == side), None)
