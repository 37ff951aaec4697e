"""Pictures that an agent sent, as Markdown images that carry their data."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from agentnb.ipython.markdown import PICTURE_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST = 4 * 1024 * 1024
"""Bytes of picture data that one turn may put into a notebook, for each picture."""


def picture(block: Mapping[str, Any]) -> str:
    """An ACP image block as Markdown, or a line that says why it is not shown.

    Only raster types: an SVG can hold script.

    Example:
        >>> picture({"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zy8+"})
        '*(picture of type image/svg+xml, not shown)*'
    """
    kind = str(block.get("mimeType", "")).lower().replace("image/jpg", "image/jpeg")
    data = "".join(str(block.get("data", "")).split())
    if kind.removeprefix("image/") not in PICTURE_TYPES or not kind.startswith("image/"):
        return f"*(picture of type {_word(kind)}, not shown)*"
    if len(data) * 3 // 4 > LARGEST:
        return f"*(picture of {len(data) * 3 // 4:,} bytes, too large to keep)*"
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return "*(picture with broken data, not shown)*"
    return f"![picture](data:{kind};base64,{data})"


def _word(kind: str) -> str:
    return "".join(char for char in kind if char.isalnum() or char in "/+.-")[:60] or "unknown"
