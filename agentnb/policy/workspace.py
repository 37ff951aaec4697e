"""The workspace, outside of which an agent touches no file; trusted folders; and the places of policy files.

The user wrote the permissions in their file elsewhere and earlier. A folder filled by somebody else may make an agent
misuse them. So they apply only in folders that the user has named, and below them.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.errors import OutsideWorkspace, PolicyError
from agentnb.folders import config_folder, from_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import PurePath

NAME = "policy.toml"
"""The user's file, in ``AGENTNB_CONFIG_DIR``, else in ``agentnb`` in Jupyter's configuration folder."""
PROJECT = Path(".agentnb", NAME)
"""The project's file, in the workspace."""


def own_patterns(root: PurePath) -> tuple[str, ...]:
    """Returns patterns for the files that decide what agents may do and how they start."""
    named = [os.environ.get(name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTERLAB_SETTINGS_DIR", "IPYTHONDIR")]
    folders = [config_folder(), *(Path(each).expanduser() for each in named if each)]
    patterns = []
    for folder in (Path(os.path.abspath(each)) for each in folders):  # noqa: PTH100 - links stay
        patterns.append(f"{_literal(folder.as_posix())}/**")
        if root in folder.parents:
            patterns.append(f"{_literal(folder.relative_to(root).as_posix())}/**")
    return tuple(dict.fromkeys(patterns))


def _literal(path: str) -> str:
    """Returns *path* as a pattern; a character that is special in patterns becomes one that matches any character."""
    return re.sub(r"[*?\[\]{}!\\,]", "?", path)


LONGEST_PATH = 4_096
"""The longest path that is followed, in characters: Linux opens no longer one, and the time to follow it grows with
the square of its length."""


def real_path(base: str, path: str) -> str:
    """Returns the absolute path that *path* leads to from the folder *base*, following links where possible."""
    joined = os.path.join(base, path)  # noqa: PTH118 - as text
    try:
        return os.path.realpath(joined) if len(joined) <= LONGEST_PATH else os.path.normpath(joined)
    except (OSError, ValueError):
        return os.path.normpath(joined)


class WorkspaceBoundary:
    """A folder, its additional directories, and everything below them."""

    def __init__(self, root: Path, directories: Iterable[str | Path] = ()) -> None:
        self.root: Path = Path(root).resolve()
        self.roots: tuple[Path, ...] = (self.root, *(Path(folder).resolve() for folder in directories))

    def resolve(self, path: str) -> Path:
        """Returns the real path that *path* names, following links and ``..``; a relative one starts at the root."""
        real = self.follow(path)
        if not self.holds(real):
            leads = "" if str(real) == path else f" (it leads to {str(real)!r})"
            where = " and ".join(map(repr, map(str, self.roots)))
            hint = (
                "Start the session with a cwd or `directories` that contain it, or allow access with a rule "
                "in policy.toml: "
                f'action = "ask", tool = "read", path = {json.dumps(f"{real.parent.as_posix()}/**")}.'
            )
            raise OutsideWorkspace(f"{path!r}{leads} is outside the workspace {where}.", hint=hint)
        return real

    def holds(self, real: Path) -> bool:
        """True if *real*, a path without links, is in the workspace."""
        return self.root_of(real) is not None

    def root_of(self, real: Path) -> Path | None:
        """Returns the innermost of the workspace's folders that contains *real*; None if none does."""
        holding = [root for root in self.roots if real == root or root in real.parents]
        return max(holding, key=lambda root: len(root.parts), default=None)

    def follow(self, path: str) -> Path:
        """Returns the real path that *path* names, even outside the workspace."""
        if len(path) > LONGEST_PATH:
            raise OutsideWorkspace(f"A path has {len(path):,} characters; no more than {LONGEST_PATH:,} can be opened.")
        try:
            real = (self.root / path).resolve()
            if any(each.is_symlink() for each in (real, *real.parents)):  # a loop, from Python 3.13 on
                raise RuntimeError("a loop of links")
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links or a NUL
            raise OutsideWorkspace(f"{path!r} is not a path that can be resolved: {error}.") from error
        return real


_QUOTED = re.compile(r"""("[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\n]*')[ \t]*,?[ \t]*""")
_LONGEST = 40


def trusting(folders: Iterable[str], workspace: Path) -> str | None:
    """Returns the entry of *folders* that contains *workspace*, or None; follows links and ``..`` on both sides."""
    real = Path(os.path.realpath(workspace))
    within = (real, *real.parents)
    return next((each for each in folders if Path(os.path.realpath(each)) in within), None)


def for_display(folder: Path) -> str:
    """Returns *folder* for display: short, on one line, with ``~`` for the user's home folder."""
    text = "".join(char if char.isprintable() else "?" for char in from_home(folder)).replace("`", "'")
    return text if len(text) <= _LONGEST else f"…{text[1 - _LONGEST :]}"


def with_folder(text: str, quoted: str, means: Callable[[str], tuple[str, ...]]) -> str:
    """Returns the policy file *text* with one more trusted folder; everything else, even comments, is unchanged."""
    return _first(_added(text, quoted), [*means(text), *means(f"[trust]\nfolders = [{quoted}]\n")], means)


def without_folder(text: str, folder: str, means: Callable[[str], tuple[str, ...]]) -> str:
    """Returns the policy file *text* without the trusted folder *folder*."""
    cuts = (text[: match.start()] + text[match.end() :] for match in _QUOTED.finditer(text))
    left = [*means(text)]
    left.remove(folder)
    return _first(cuts, left, means)


def _added(text: str, quoted: str) -> Iterator[str]:
    """Yields candidates: with a table of its own, as the first item of each list, and below each table header."""
    yield f"{text.rstrip()}\n\n[trust]\nfolders = [{quoted}]\n"
    for match in re.finditer(r"\[", text):
        yield f"{text[: match.end()]}{quoted}, {text[match.end() :]}"
    for match in re.finditer(r"\][^\n]*\n?", text):
        yield f"{text[: match.end()].rstrip()}\nfolders = [{quoted}]\n{text[match.end() :]}"


def _first(texts: Iterable[str], wanted: list[str], means: Callable[[str], tuple[str, ...]]) -> str:
    """Returns the first of *texts* that means what is *wanted*."""
    for text in texts:
        try:
            if sorted(means(text)) == sorted(wanted):
                return text
        except PolicyError:  # the wrong place: the text is invalid TOML or has other values now
            continue
    raise PolicyError("The list of trusted folders could not be changed.", hint="Change [trust] folders by hand.")
