"""Objects in `context=` go as pictures, files or text."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from IPython.display import Image as ShownImage
from matplotlib.figure import Figure
from PIL import Image

import agentnb
from agentnb import Session
from agentnb.errors import UsageError
from tests.unit.api.conftest import AGENTS, PATIENCE

mpl.use("agg")
PICTURE = Image.new("RGB", (3, 2))
_file = io.BytesIO()
PICTURE.save(_file, "PNG")
PNG = _file.getvalue()


def figure() -> Figure:
    made = Figure()
    made.add_subplot().plot([1, 2])
    return made


class Draws:
    """A user's object that Jupyter shows as a picture."""

    def _repr_png_(self) -> bytes:
        return PNG


class Fails:
    def _repr_png_(self) -> bytes:
        raise RuntimeError("no ink")


def sent(session: Session, *context: Any) -> list[list[str]]:
    blocks: list[list[str]] = json.loads(session.prompt("Look", context=[*context]).wait(PATIENCE).text)
    return blocks


def test_objects_with_a_picture_are_sent_as_pictures(start: Callable[..., Session]) -> None:
    """Figures, axes, PIL and IPython images, bytes, and anything Jupyter shows as a picture."""
    objects = [figure(), figure().axes[0], PICTURE, ShownImage(PNG), PNG, bytearray(PNG), Draws()]
    assert sent(start("blocks"), *objects) == [["image", "image/png"]] * len(objects)


def test_path_is_sent_as_a_file_or_as_a_picture(start: Callable[..., Session], tmp_path: Path) -> None:
    """Its content decides, not its name; a folder goes as a link; a missing path is an error at once."""
    (tmp_path / "chart").write_bytes(PNG)
    (tmp_path / "a b.csv").write_text("x\n1\n", encoding="utf-8")
    session = start("blocks")
    assert sent(session, tmp_path / "chart", tmp_path / "a b.csv", tmp_path) == [
        ["image", "image/png"],
        ["resource_link", "text/csv"],
        ["resource_link", "inode/directory"],
    ]
    with pytest.raises(UsageError, match=r"nothing\.txt' in context= cannot be read: No such file"):
        session.prompt("Look", context=[tmp_path / "nothing.txt"])


def test_dict_in_context_gives_each_attachment_its_name(start: Callable[..., Session], tmp_path: Path) -> None:
    """Objects, bytes, pictures and files."""
    (tmp_path / "a.csv").write_text("x\n", encoding="utf-8")
    named = {"train": [1, 2], "note": b"hm", "chart": figure(), "dot": PNG, "table": tmp_path / "a.csv"}
    turn = start("blocks").prompt("Look", context=named).wait(PATIENCE)
    assert turn.snapshot is not None
    assert [each.label for each in turn.snapshot.message.attachments or ()] == [*named]
    assert [text.split()[1] for kind, text in json.loads(turn.text) if kind == "text"] == [
        "name='train'>",
        "name='note'>",
    ]


def test_bytes_are_sent_as_text_or_described(start: Callable[..., Session]) -> None:
    """A note names bytes that are not text to an agent that takes no files."""
    texts = sent(start("blocks"), b"some text", b"%PDF-1.7 \xff", b"RIFF\xff\xff\xff\xffWAVE")
    assert [kind for kind, _ in texts] == ["text"] * 3
    assert "application/pdf" in texts[1][1]


def test_failed_or_too_large_picture_is_described_with_the_reason(start: Callable[..., Session]) -> None:
    turn = start("blocks").prompt("Look", context=[Fails(), PNG + bytes(4_000_000)]).wait(PATIENCE)
    assert turn.snapshot is not None
    failed, large = map(str, turn.snapshot.message.attachments or ())
    assert "could not be drawn: RuntimeError: no ink." in failed
    assert "An agent gets pictures of at most 3,145,728 bytes." in large


def test_map_sends_pictures_of_many_inputs(tmp_path: Path) -> None:
    """The example from the page on many inputs: a function returns text and context."""
    rows = [{"name": "red", "picture": PNG}, {"name": "blue", "picture": PICTURE}]
    command = [sys.executable, str(AGENTS / "blocks.py")]
    batch = agentnb.map(lambda row: (f"Describe {row['name']}.", [row["picture"]]), rows, command=command, cwd=tmp_path)
    assert [json.loads(each) for each in batch] == [[["image", "image/png"]]] * 2
    batch = agentnb.map(lambda row: ("Look.", {"red": row["picture"]}), rows[:1], command=command, cwd=tmp_path)
    assert [json.loads(each) for each in batch] == [[["image", "image/png"]]]
