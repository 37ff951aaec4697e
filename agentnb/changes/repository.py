"""Reads, never runs, the ignore rules of the repository that a workspace is or lies in."""

from __future__ import annotations

import os
from pathlib import Path

from agentnb.changes.coverage import read_file
from agentnb.changes.ignore import MOST_BYTES, IgnoreRule, matches_name, read_rules

_HIGHEST = 40  # folders above the workspace


def outer_excludes(workspace: Path) -> str:
    """The ignore rules that hold in the whole workspace and lie outside of it, as an ignore file of the workspace."""
    top = _top(workspace)
    if top is None:
        return ""
    texts = [_inside(_text(_common_folder(top / ".git") / "info" / "exclude"), top, workspace)]
    here = top
    for name in workspace.relative_to(top).parts:
        texts.append(_inside(_text(here / ".gitignore"), here, workspace))
        here /= name
    return "\n".join(texts)


def folder_rules(folder: Path) -> tuple[IgnoreRule, ...]:
    """The rules of a folder's own ``.gitignore``."""
    return read_rules(_text(folder / ".gitignore"))


def _top(workspace: Path) -> Path | None:
    here = os.fspath(workspace)
    for _ in range(_HIGHEST):
        if os.path.lexists(f"{here}/.git"):
            return Path(here)
        here, below = os.path.dirname(here), here  # noqa: PTH120 - a Path takes ten times as long
        if here == below:
            break
    return None


def _common_folder(git: Path) -> Path:
    """Returns where a repository's data are."""
    if git.is_dir():
        return git
    folder_text = _text(git).strip()
    folder = (git.parent / folder_text.removeprefix("gitdir:").strip()) if folder_text.startswith("gitdir:") else git
    common = _text(folder / "commondir").strip()
    return folder / common if common else folder


def _inside(text: str, folder: Path, workspace: Path) -> str:
    """The rules of *folder* as they read from a folder in it."""
    outer = workspace.relative_to(folder).parts
    if not outer:
        return text
    return "\n".join(line for rule in read_rules(text) if (line := _line(rule, outer)))


def _line(rule: IgnoreRule, outer: tuple[str, ...]) -> str:
    end = "/" if rule.only_folders else ""
    sign = "" if rule.ignores else "!"
    if not rule.anchored:
        return f"{sign}{rule.parts[0]}{end}"
    if rule.parts[0] == "**":
        return f"{sign}{'/'.join(rule.parts)}{end}"
    above, below = rule.parts[: len(outer)], rule.parts[len(outer) :]
    if not below or not all(map(matches_name, above, outer)):
        return ""
    return f"{sign}/{'/'.join(below)}{end}"


def _text(path: Path) -> str:
    try:
        return os.fsdecode(read_file(os.fspath(path), MOST_BYTES))
    except OSError:
        return ""
