"""Reads tasks: folders with a prompt, a workspace for the agent, and a check that the agent does not see."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agentnb.distribution import manual
from agentnb.errors import UsageError
from agentnb.toml_file import parsed

if TYPE_CHECKING:
    from collections.abc import Iterable

TASK, CHECK, WORKSPACE = "task.toml", "check.py", "workspace"
FUNCTION = "check"
MOST_SECONDS = 24 * 3600.0
LARGEST_FILE = 1024 * 1024


class _Written(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `task.toml`.

    Attributes:
        title: A title for people, in one line.
        prompt: The agent's prompt.
        notebook: The notebook that the agent works in, a path in the workspace; empty if there is none.
        seconds: How long the agent may take, in seconds.
        check_seconds: How long the check may take, in seconds.
    """

    title: str
    prompt: str
    notebook: str = ""
    seconds: float = 600.0
    check_seconds: float = 60.0


class Task(_Written, frozen=True, kw_only=True):
    """One task: what is written, the folder, and the digest of all its files."""

    name: str
    folder: Path
    digest: str

    @property
    def workspace(self) -> Path:
        """The files that the agent gets a copy of; the folder need not exist."""
        return self.folder / WORKSPACE


def read_tasks(words: Iterable[str]) -> list[Task]:
    """Returns the tasks in folders: each is a task, or contains tasks. Raises a UsageError if one cannot be used."""
    tasks: dict[str, Task] = {}
    for word in words:
        for folder in _task_folders(Path(word).expanduser().resolve()):
            task = _read(folder)
            other = tasks.setdefault(task.name, task)
            if other.folder != folder:
                raise UsageError(f"{other.folder} and {folder} have the same name.", hint="Rename one of the folders.")
    return [tasks[name] for name in sorted(tasks)]


def _task_folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder.", hint="Specify the folder with the tasks.")
    if (folder / TASK).exists():
        return [folder]
    try:
        inside = sorted(each for each in folder.iterdir() if (each / TASK).exists())
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}.", hint="Check the path.") from None
    if not inside:
        raise UsageError(
            f"There is no task in {folder}.",
            hint=f"A task is a folder with {TASK} and {CHECK} ({manual('how-to/evaluate')}).",
        )
    return inside


def _read(folder: Path) -> Task:
    path = folder / TASK
    try:
        written = msgspec.convert(parsed(_text(path)), _Written)
    except (ValueError, msgspec.ValidationError) as error:
        raise UsageError(f"{path} cannot be used: {error}.", hint="Fix the file.") from None
    for name in ("title", "prompt"):
        if not getattr(written, name).strip():
            raise UsageError(f"{path}: {name} is empty.", hint="Write one.")
    for name in ("seconds", "check_seconds"):
        if not 0 < getattr(written, name) <= MOST_SECONDS:
            raise UsageError(f"{path}: {name} is not a number above 0 and up to {MOST_SECONDS:g}.", hint="Fix it.")
    _check_notebook(folder, written.notebook)
    _check_function(folder / CHECK)
    about = msgspec.structs.asdict(written)
    about |= {"title": " ".join(written.title.split()), "prompt": written.prompt.strip()}
    return Task(name=folder.name, folder=folder, digest=_digest(folder), **about)


def _check_notebook(folder: Path, notebook: str) -> None:
    if not notebook:
        return
    path = (folder / WORKSPACE / notebook).resolve()
    if path.suffix != ".ipynb" or not path.is_file() or (folder / WORKSPACE).resolve() not in path.parents:
        raise UsageError(
            f"{folder / TASK}: there is no notebook {notebook!r} in {folder / WORKSPACE}.",
            hint="notebook must be a path in the workspace, such as notebook = 'sales.ipynb'.",
        )


def _check_function(path: Path) -> None:
    """Check that the check function can be found, before any agent is prompted."""
    if not path.is_file():
        raise UsageError(f"The task {path.parent.name} has no check: {path} is missing.", hint="Write it.")
    try:
        module = ast.parse(_text(path), str(path))
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{path} is not valid Python: {error}.", hint="Fix the file.") from None
    functions = {each.name for each in module.body if isinstance(each, ast.FunctionDef)}
    if FUNCTION not in functions:
        raise UsageError(f"{path} has no function {FUNCTION}.", hint=f"Write one: def {FUNCTION}(run): …")


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UsageError(f"{path} has more than {LARGEST_FILE:,} bytes.", hint="Keep data in files of their own.")
        return path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", hint="Check the path.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8.", hint="Save it as UTF-8.") from None


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if "__pycache__" in path.parts or not (path.is_symlink() or path.is_file()):
            continue
        digest.update(f"{path.relative_to(folder).as_posix()}\0".encode("utf-8", "surrogateescape"))
        content = str(path.readlink()).encode("utf-8", "surrogateescape") if path.is_symlink() else path.read_bytes()
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:16]
