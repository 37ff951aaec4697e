"""The policy files as they are on disk now: read again when they change, written when the user says "always"."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.atomic_write import write_atomically
from agentnb.errors import PolicyError
from agentnb.policy.places import PROJECT, user_policy
from agentnb.policy.settings import Settings, load, parse
from agentnb.policy.trust import trusting, with_folder, without_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentnb.policy.rules import Rule, Source

_HEAD = "# What agents may do; see docs/reference/policy.md of agentnb. The last rule that matches wins.\n"


class PolicyFiles:
    """The user's policy file, and the project's of each workspace.

    Args:
        user: The user's file; by default where :func:`agentnb.policy.places.user_policy` says.
    """

    def __init__(self, user: Path | None = None) -> None:
        self._user = user
        self._read: dict[tuple[Path, str], tuple[tuple[int, ...] | None, Settings]] = {}

    @property
    def user_path(self) -> Path:
        """The user's file."""
        return self._user or user_policy()

    @property
    def user(self) -> Settings:
        """What the user's file says now."""
        return self._load(self.user_path, "user")

    def project(self, workspace: Path) -> Settings:
        """What the file of the project in *workspace* says now."""
        return self._load(workspace / PROJECT, "project")

    def trusts(self, workspace: Path) -> bool:
        """Whether the user trusts the folder *workspace*, or one that it is in."""
        return trusting(self.user.trusted, workspace) is not None

    def remember(self, rule: Rule, *, trusted: Path | None = None) -> Path:
        """Add *rule* to the end of the user's file, whole or not at all.

        Args:
            rule: The rule.
            trusted: A folder to trust with it.

        Returns:
            The file.

        Raises:
            PolicyError: If the file cannot be read as it is, or not be written.
        """

        def added(before: str) -> str:
            with_trust = before if trusted is None else _trusting(before, trusted)
            return f"{with_trust.rstrip()}\n\n{_toml(rule)}"

        return self._change(added, "Add the rule by hand.")

    def trust(self, folder: Path) -> Path:
        """Let what the user's file allows hold in *folder* and below it.

        Returns:
            The file.

        Raises:
            PolicyError: If the file cannot be read as it is, or not be written.
        """
        return self._change(lambda before: _trusting(before, folder), "Add it to [trust] folders by hand.")

    def untrust(self, folder: Path) -> Path:
        """Trust *folder* no more.

        Returns:
            The file.

        Raises:
            PolicyError: If the file cannot be read as it is, or not be written, or trusts a folder that it is in.
        """
        real = os.path.realpath(folder)

        def taken(before: str) -> str:
            for entry in _trusted(before):
                if os.path.realpath(entry) == real:
                    before = without_folder(before, entry, _trusted)
            left = trusting(_trusted(before), folder)
            if left is not None:
                message = f"{folder} is in {left}, which is trusted."
                raise PolicyError(
                    message,
                    hint="Remove the trust in that folder, then trust others in it.",
                )
            return before

        return self._change(taken, "Remove it from [trust] folders by hand.")

    def _change(self, change: Callable[[str], str], hint: str) -> Path:
        path = Path(os.path.realpath(self.user_path))
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(path):
                before = path.read_text("utf-8") if path.exists() else _HEAD
                parse(before, str(path))
                after = change(before)
                parse(after, str(path))
                if after != before:
                    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
                    write_atomically(path, after.encode("utf-8"), mode=mode, sync=True)
        except (OSError, UnicodeDecodeError) as error:
            raise PolicyError(f"{path} could not be changed: {error}.", hint=hint) from error
        return path

    def _load(self, path: Path, source: Source) -> Settings:
        state = _state(path)
        known = self._read.get((path, source))
        if known is None or known[0] != state:
            known = self._read[path, source] = (state, load(path, source))
        return known[1]


def _state(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode


def _trusted(text: str) -> tuple[str, ...]:
    return parse(text, "policy.toml").trusted


def _trusting(text: str, folder: Path) -> str:
    """*text* with *folder* among the trusted ones, where it is not yet."""
    if trusting(_trusted(text), folder) is not None:
        return text
    return with_folder(text, _text(os.path.realpath(folder)), _trusted)


def _toml(rule: Rule) -> str:
    lines = ["[[rule]]", f"action = {_text(rule.action)}"]
    for key in ("agent", "tool", "path", "command"):
        values = getattr(rule, key)
        if values:
            lines.append(f"{key} = [{', '.join(map(_text, values))}]")
    if rule.severity != "high":
        lines.append(f"severity = {_text(rule.severity)}")
    if rule.sensitive:
        lines.append("sensitive = true")
    if rule.note:
        lines.append(f"note = {_text(rule.note)}")
    return "\n".join([*lines, ""])


def _text(value: str) -> str:
    """A TOML string."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    inside = "".join(escapes.get(char, char if char.isprintable() else f"\\U{ord(char):08X}") for char in value)
    return f'"{inside}"'


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One writer at a time, of all kernels."""
    with path.with_name(f".{path.name}.lock").open("w", encoding="utf-8") as lock:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
