"""What an object of `context=` becomes: a picture or a file where it is one, else a description in text."""

from __future__ import annotations

import base64
import io
import mimetypes
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.api.arguments import check_text, each_of
from agentnb.api.describe import describe
from agentnb.errors import UsageError
from agentnb.kernel.chart_pictures import chart_of, with_pictures
from agentnb.kernel.output_kinds import LARGEST_PICTURE, PICTURES
from agentnb.kernel.output_text import LEFT_OUT, read_outputs
from agentnb.state import MessageEmbeddedResourceAttachment, MessageResourceAttachment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.state import MessageAttachment, SimpleMessageAttachment

_DOTS_PER_INCH = 150
LARGEST_FILE = 10 * 1024 * 1024
"""Bytes that are not a picture and can be sent with a prompt."""
_METHODS = {"_repr_png_": "image/png", "_repr_jpeg_": "image/jpeg"}


def attachments_of(context: Iterable[Any]) -> tuple[MessageAttachment, ...]:
    """The attachments of a list of objects, or of a dict of objects by the names that the agent reads."""
    if not isinstance(context, dict):
        return tuple(map(attachment_of, each_of(context)))
    for name in context:
        check_text("A name in context", name, example='context={"train": df}')
    return tuple(attachment_of(value, name) for name, value in context.items())


def attachment_of(value: Any, name: str | None = None) -> MessageAttachment:
    r"""The attachment that shows *value* to the agent, under *name* where it has one.

    Example:
        >>> attachment_of(3).model_representation
        'int: int\n3'
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _of_bytes(bytes(value), name or "bytes")
    if isinstance(value, os.PathLike):
        return _of_path(Path(value), name)
    try:
        bundle = _drawn(value)
    except Exception as error:  # noqa: BLE001 - the code of the user's object
        return _with_note(describe(value, name), f"Its picture could not be drawn: {type(error).__name__}: {error}.")
    return describe(value, name) if bundle is None else _picture(bundle, value, name)


def _picture(bundle: dict[str, Any], value: Any, name: str | None) -> MessageAttachment:
    outputs, undrawn = with_pictures([{"output_type": "display_data", "data": bundle}])
    read = read_outputs(outputs)
    if not read.pictures:
        return _with_note(describe(value, name), *undrawn, *read.left_out)
    return _embedded(name or type(value).__name__, read.pictures[0].data, read.pictures[0].content_type)


def _drawn(value: Any) -> dict[str, Any] | None:
    """The picture of *value* as Jupyter has it, or a chart that can be drawn; None where it has neither."""
    if isinstance(value, type):
        return None
    if (figure := _figure(value)) is not None:
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=_DOTS_PER_INCH, bbox_inches="tight")
        return {"image/png": _base64(drawn.getvalue())}
    for method, kind in _METHODS.items():
        if data := _called(value, method):
            return {kind: _base64(data)}
    bundle = _called(value, "_repr_mimebundle_")
    if not isinstance(bundle, dict):
        return None
    pictures = {kind: _base64(data) for kind, data in bundle.items() if kind in PICTURES}
    if pictures:
        return pictures
    return bundle if chart_of({"data": bundle}) is not None else None


def _figure(value: Any) -> Any:
    """The figure of matplotlib that *value* is, or is an axes of; None where it is neither."""
    if not any(kind.__module__.partition(".")[0] == "matplotlib" for kind in type(value).__mro__):
        return None
    if callable(getattr(value, "savefig", None)):
        return value
    get_figure = getattr(value, "get_figure", None)
    figure = get_figure() if callable(get_figure) else None
    return figure if callable(getattr(figure, "savefig", None)) else None


def _called(value: Any, method: str) -> Any:
    """Call *method*; returns its result without the metadata, None where there is no such method."""
    method_found = getattr(value, method, None) if callable(getattr(type(value), method, None)) else None
    drawn = method_found() if method_found is not None else None
    return drawn[0] if isinstance(drawn, tuple) else drawn


def _of_bytes(data: bytes, label: str = "bytes") -> MessageAttachment:
    kind = picture_type(data)
    if kind is None and (text := _text(data)) is not None:
        return describe(text, label)
    if kind is not None and len(data) > LARGEST_PICTURE:
        what = f"{label}: a picture of {len(data):,} bytes"
        return _with_note(describe(what, label), f"An agent gets pictures of at most {LARGEST_PICTURE:,} bytes.")
    if len(data) > LARGEST_FILE:
        message = f"These are {len(data):,} bytes; at most {LARGEST_FILE:,} can be sent with a prompt."
        raise UsageError(message, hint="Write them to a file in the workspace and pass its Path.")
    other = "application/pdf" if data.startswith(b"%PDF-") else "application/octet-stream"
    return _embedded(label, _base64(data), kind or other)


def _of_path(path: Path, name: str | None) -> MessageAttachment:
    where = path.expanduser().absolute()
    try:
        if where.is_file() or not where.is_dir():
            with where.open("rb") as file:
                begin = file.read(LARGEST_PICTURE + 1)
            if picture_type(begin) is not None and len(begin) <= LARGEST_PICTURE:
                return _of_bytes(begin, name or where.name)
    except OSError as error:
        message = f"{str(path)!r} in context= cannot be read: {error.strerror}."
        raise UsageError(message, hint="Give the path of a file; a text is given as str.") from None
    kind = "inode/directory" if where.is_dir() else mimetypes.guess_type(where.name)[0]
    return MessageResourceAttachment(label=name or where.name or str(where), uri=where.as_uri(), content_type=kind)


def _embedded(label: str, data: str, kind: str) -> MessageAttachment:
    attachment_type = "image" if kind.startswith("image/") else "document"
    return MessageEmbeddedResourceAttachment(label=label, display_kind=attachment_type, content_type=kind, data=data)


def picture_type(data: bytes) -> str | None:
    r"""The media type of a picture that agents take, by how *data* begins; None for all else.

    Example:
        >>> picture_type(b"\x89PNG\r\n\x1a\n...")
        'image/png'
    """
    kind = next((kind for kind, begin in PICTURES.items() if data.startswith(begin)), None)
    return None if kind == "image/webp" and data[8:12] != b"WEBP" else kind


def _text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _with_note(described: SimpleMessageAttachment, *notes: str) -> MessageAttachment:
    """*described*, with why it has no picture."""
    if not notes:
        return described
    text = "\n".join((described.model_representation or "", *notes))
    return replace(described, model_representation=text, meta={LEFT_OUT: list(notes)})


def _base64(data: bytes | str) -> str:
    return data if isinstance(data, str) else base64.b64encode(data).decode()
