"""The files beside a cassette that hold its large contents, each named by a hash of its content."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from agentnb.errors import CassetteBroken

if TYPE_CHECKING:
    from pathlib import Path

LARGE = 16 * 1024
"""Characters from which a text is kept in a file of its own."""

_FILE, _AS_IS = "$file", "$json"


def folder_of(path: Path) -> Path:
    """Returns the folder of the large content of the cassette at *path*."""
    return path.with_name(f"{path.name.removesuffix('.jsonl')}.files")


def belongs_to(path: Path, cassette: Path) -> bool:
    """True if *path*, absolute, is the file *cassette*, its backup, or a file beside it that belongs to it."""
    beside = cassette.parent.resolve()
    if beside not in path.parents:
        return False
    name = cassette.name.removesuffix(".jsonl")
    whose = path.relative_to(beside).parts[0].removeprefix(".")
    return whose.startswith((f"{name}.jsonl", f"{name}.old.", f"{name}.files")) or whose == answers_of(cassette).name


def answers_of(cassette: Path) -> Path:
    """Returns the file of recorded batch answers beside *cassette*."""
    return cassette.with_name(f"{cassette.name.removesuffix('.jsonl').removesuffix('.cassette')}.batch.jsonl")


def notebook_of(cassette: Path) -> Path:
    """Returns the notebook beside *cassette*, which the user and Jupyter write; it may not exist."""
    return cassette.parent.resolve() / f"{cassette.name.removesuffix('.jsonl').removesuffix('.cassette')}.ipynb"


class LargeContent:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._texts: dict[str, str] = {}

    def put(self, value: Any) -> Any:
        """*value* (JSON) with its large texts replaced by references."""
        if isinstance(value, str):
            if len(value) < LARGE:
                return value
            name = _name(value.encode("utf-8"))
            self._texts[name] = value
            return {_FILE: name}
        if isinstance(value, list):
            return [self.put(item) for item in value]
        if isinstance(value, dict):
            inside = {name: self.put(item) for name, item in value.items()}
            return {_AS_IS: inside} if len(value) == 1 and value.keys() <= {_FILE, _AS_IS} else inside
        return value

    def get(self, value: Any) -> Any:
        """Returns *value* with its references replaced by the texts that they refer to."""
        if isinstance(value, list):
            return [self.get(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {_FILE}:
            return self._get(str(value[_FILE]))
        inside = value[_AS_IS] if value.keys() == {_AS_IS} else value
        return {name: self.get(item) for name, item in inside.items()}

    def write(self) -> None:
        """Write the texts that were put, and remove those that are no longer referred to."""
        if self._texts:
            self.folder.mkdir(parents=True, exist_ok=True)
        for name, text in self._texts.items():
            (self.folder / name).write_bytes(text.encode("utf-8"))
        if self.folder.is_dir():
            for file in self.folder.iterdir():
                if file.name not in self._texts and file.suffix == ".txt":
                    file.unlink()
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    def _get(self, name: str) -> str:
        file = self.folder / name
        try:
            data = file.read_bytes() if "/" not in name and "\\" not in name else b""
        except OSError as error:
            hint = f"Take {self.folder.name}/ from version control with it, or record it again."
            raise CassetteBroken(f"its large content {name} is missing from {self.folder}.", hint=hint) from error
        if _name(data) != name:
            hint = "Restore it from version control, or record again."
            raise CassetteBroken(f"its large content {file} has changed since it was recorded.", hint=hint)
        return data.decode("utf-8")


def _name(data: bytes) -> str:
    return f"{hashlib.sha256(data).hexdigest()[:32]}.txt"
