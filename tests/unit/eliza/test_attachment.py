"""What comes with a prompt: names, kinds, sizes, first lines."""

from __future__ import annotations

from typing import Any

import acp
import pytest
from acp.schema import BlobResourceContents, TextResourceContents

from agentnb.eliza.attachment import attachments, words

TABLE = "\n".join(f"line {number}" for number in range(1, 9))


def embedded(uri: str, text: str, mime_type: str | None = None) -> Any:
    return acp.resource_block(TextResourceContents(uri=uri, text=text, mime_type=mime_type))


@pytest.mark.parametrize(
    ("block", "name", "detail"),
    [
        (embedded("agentnb://variable/df", "é" * 156, "text/csv"), "df", "text/csv, 312 B"),
        (embedded("file:///work/my%20notes.txt", "x" * 2048), "my notes.txt", "text, 2.0 KiB"),
        (embedded("file:///work/nb.ipynb#cell-3", ""), "cell-3", "text, 0 B"),
        (acp.resource_block(BlobResourceContents(uri="x:/a.bin", blob="AAEC")), "a.bin", "bytes, 3 B"),
        (acp.resource_link_block("README.md", "file:///r", size=3 * 2**20), "README.md", "link, type unknown, 3.0 MiB"),
        (acp.resource_link_block("a", "x:a", mime_type="text/plain"), "a", "link, text/plain, size unknown"),
        (acp.image_block("AAEC", "image/png"), "image", "image/png, 3 B"),
        (acp.image_block("?", "image/png", uri="x:/plot.png"), "plot.png", "image/png, size unknown"),
        (acp.audio_block("AAEC", "audio/wav"), "audio", "audio/wav, 3 B"),
    ],
)
def test_each_kind_of_block_has_a_name_a_kind_and_a_size(block: Any, name: str, detail: str) -> None:
    (found,) = attachments([block])
    assert (found.name, found.detail) == (name, detail)


def test_the_excerpt_is_the_first_lines_and_says_how_many_follow() -> None:
    (found,) = attachments([embedded("x:/t", TABLE)])
    assert found.excerpt.splitlines() == [*(f"line {number}" for number in range(1, 7)), "… 2 more lines"]


def test_a_long_line_of_an_excerpt_is_cut() -> None:
    (found,) = attachments([embedded("x:/t", "y" * 500)])
    assert found.excerpt == "y" * 159 + "…"


def test_the_words_are_the_text_blocks_and_nothing_else() -> None:
    prompt = [acp.text_block(" /say a"), embedded("x:/t", "no"), acp.text_block("b ")]
    assert words(prompt) == "/say a\nb"
