"""What comes with a prompt: names, kinds, sizes, first lines."""

from __future__ import annotations

import pytest

from agentnb.plugins.acp_agent.content import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
)
from agentnb.plugins.eliza.attachment import attachments, words

TABLE = "\n".join(f"line {number}" for number in range(1, 9))


def embedded(uri: str, text: str, mime_type: str | None = None) -> ContentBlock:
    """A resource that was sent along."""
    return EmbeddedResource(resource=ResourceContents(uri=uri, text=text, mime_type=mime_type))


@pytest.mark.parametrize(
    ("block", "name", "detail"),
    [
        (embedded("agentnb://variable/df", "é" * 156, "text/csv"), "df", "text/csv, 312 B"),
        (embedded("file:///work/my%20notes.txt", "x" * 2048), "my notes.txt", "text, 2.0 KiB"),
        (embedded("file:///work/nb.ipynb#cell-3", ""), "cell-3", "text, 0 B"),
        (EmbeddedResource(resource=ResourceContents(uri="x:/a.bin", blob="AAEC")), "a.bin", "bytes, 3 B"),
        (
            ResourceLink(name="README.md", uri="file:///r", size=3 * 2**20),
            "README.md",
            "link, type unknown, 3.0 MiB",
        ),
        (ResourceLink(name="a", uri="x:a", mime_type="text/plain"), "a", "link, text/plain, size unknown"),
        (ImageContent(data="AAEC", mime_type="image/png"), "image", "image/png, 3 B"),
        (ImageContent(data="?", mime_type="image/png", uri="x:/plot.png"), "plot.png", "image/png, size unknown"),
        (AudioContent(data="AAEC", mime_type="audio/wav"), "audio", "audio/wav, 3 B"),
    ],
)
def test_kinds_of_block(block: ContentBlock, name: str, detail: str) -> None:
    """Each kind of block has a name a kind and a size."""
    (found,) = attachments([block])
    assert (found.name, found.detail) == (name, detail)


def test_excerpt() -> None:
    """The excerpt is the first lines and says how many follow."""
    (found,) = attachments([embedded("x:/t", TABLE)])
    assert found.excerpt.splitlines() == [*(f"line {number}" for number in range(1, 7)), "… 2 more lines"]


def test_long_line() -> None:
    """A long line of an excerpt is cut."""
    (found,) = attachments([embedded("x:/t", "y" * 500)])
    assert found.excerpt == "y" * 159 + "…"


def test_words() -> None:
    """The words are the text blocks and nothing else."""
    prompt = [TextContent(text=" /say a"), embedded("x:/t", "no"), TextContent(text="b ")]
    assert words(prompt) == "/say a\nb"
