"""Turns an object of `context=` into an attachment: a picture or a file where it is one, else a description in text."""

from __future__ import annotations

import base64
import inspect
import io
import mimetypes
import os
import re
import reprlib
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.api.arguments import check_text, each_of
from agentnb.api.unattended import current_shell
from agentnb.errors import UsageError
from agentnb.kernel.chart_pictures import chart_of, with_pictures
from agentnb.kernel.error_summary import ErrorPlace, summarize_error
from agentnb.kernel.output_text import LARGEST_PICTURE, LEFT_OUT, PICTURES, read_outputs
from agentnb.server.comm.lab import current_notebook
from agentnb.state import MessageEmbeddedResourceAttachment, MessageResourceAttachment, SimpleMessageAttachment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.state import MessageAttachment


MAX_CHARACTERS = 8_000
HEAD_ROWS = 8
HEAD_ITEMS = 20
_CELL = re.compile(r"In ?\[(?P<count>\d+)\]")


def describe(value: Any, name: str | None = None) -> SimpleMessageAttachment:
    r"""Returns an attachment that describes *value* to the agent in text.

    Example:
        >>> describe([1, 2, 3], "xs").model_representation
        'xs: list, length 3\n[1, 2, 3]'
    """
    label = name or getattr(value, "__name__", None) or type(value).__name__
    body = next((body for fits, body in _BODIES if fits(value)), _repr)
    text = f"{label}: {summarize(value)}\n{_guarded(body, value)}"
    if len(text) > MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]}\n… cut at {MAX_CHARACTERS:,} characters"
    return SimpleMessageAttachment(label=label, display_kind="variable", model_representation=text)


def summarize(value: Any) -> str:
    """Returns one line on *value*: its type and size.

    Example:
        >>> summarize({"a": 1})
        'dict, length 1'
    """
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"{name}, shape {shape}"
    if isinstance(value, list | tuple | dict | set | frozenset | str | bytes):
        return f"{name}, length {len(value)}"
    return name


def _guarded(body: Callable[[Any], str], value: Any) -> str:
    """Returns ``body(value)``, or a text about the error if the object's own code raises one."""
    try:
        return body(value)
    except Exception as error:  # noqa: BLE001 - any user's __repr__ may raise anything
        return f"(cannot be shown: {type(error).__name__}: {error})"


def _is_frame(value: Any) -> bool:
    return all(hasattr(value, part) for part in ("columns", "dtypes", "head"))


def _frame(value: Any) -> str:
    columns = "\n".join(f"  {name!s}: {kind!s}" for name, kind in zip(value.columns, value.dtypes, strict=False))
    return f"columns:\n{columns}\nhead:\n{value.head(HEAD_ROWS)}"


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _array(value: Any) -> str:
    return f"dtype {value.dtype}\n{value!r}"


def _is_source(value: Any) -> bool:
    return inspect.isfunction(value) or inspect.isclass(value) or inspect.ismethod(value)


def _source(value: Any) -> str:
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return repr(value)


def _container(value: Any) -> str:
    if isinstance(value, dict):
        excerpt: Any = {key: value[key] for key in islice(value, HEAD_ITEMS)}
    else:
        excerpt = type(value)(islice(value, HEAD_ITEMS)) if type(value) in (list, tuple, set, frozenset) else value
    more = f"\n… and {len(value) - HEAD_ITEMS} more" if len(value) > HEAD_ITEMS else ""
    return f"{_repr(excerpt)}{more}"


def _repr(value: Any) -> str:
    short = reprlib.Repr()
    short.maxlevel = 6
    short.maxdict = short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = HEAD_ITEMS
    short.maxstring = short.maxother = MAX_CHARACTERS
    return short.repr(value)


def _error(value: BaseException) -> str:
    return summarize_error(value, cell_of=cell_place, script=_script()).text


def cell_place(file: str, shell: Any = None) -> ErrorPlace | None:
    """Returns the cell that IPython compiled under the name *file*; None if there is none."""
    shell = current_shell() if shell is None else shell
    named = shell.compile.format_code_name(file) if shell is not None else None
    match = _CELL.search(named[1]) if named else None
    if match is None:
        return None
    count = int(match["count"])
    notebook = current_notebook()
    cell = next((each for each in notebook.cells if each.count == count), None) if notebook is not None else None
    return ErrorPlace(count, cell.id if cell else None)


def _script() -> Path | None:
    """The file that this Python was started with; None in a kernel and at a prompt."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(file).resolve() if isinstance(file, str) else None


_BODIES: tuple[tuple[Callable[[Any], bool], Callable[[Any], str]], ...] = (
    (lambda value: isinstance(value, BaseException), _error),
    (_is_frame, _frame),
    (_is_array, _array),
    (lambda value: isinstance(value, str), str),
    (lambda value: isinstance(value, dict | list | tuple | set | frozenset), _container),
    (_is_source, _source),
)


_DOTS_PER_INCH = 150
LARGEST_FILE = 10 * 1024 * 1024
"""The largest data, in bytes, that is not a picture and can be sent with a prompt."""
_METHODS = {"_repr_png_": "image/png", "_repr_jpeg_": "image/jpeg"}


def attachments_of(context: Iterable[Any]) -> tuple[MessageAttachment, ...]:
    """Returns the attachments of a list of objects, or of a dict that maps the names shown to the agent to objects."""
    if not isinstance(context, dict):
        return tuple(map(attachment_of, each_of(context)))
    for name in context:
        check_text("A name in context", name, example='context={"train": df}')
    return tuple(attachment_of(value, name) for name, value in context.items())


def attachment_of(value: Any, name: str | None = None) -> MessageAttachment:
    r"""Returns the attachment that shows *value* to the agent, called *name* if one is given.

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
    """Returns the picture of *value* as Jupyter has it, or a chart that can be drawn; None if it has neither."""
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
    """Returns the matplotlib figure that *value* is, or that its axes belong to; None if there is none."""
    if not any(kind.__module__.partition(".")[0] == "matplotlib" for kind in type(value).__mro__):
        return None
    if callable(getattr(value, "savefig", None)):
        return value
    get_figure = getattr(value, "get_figure", None)
    figure = get_figure() if callable(get_figure) else None
    return figure if callable(getattr(figure, "savefig", None)) else None


def _called(value: Any, method: str) -> Any:
    """Call *method* and return its result without the metadata; None if there is no such method."""
    method_found = getattr(value, method, None) if callable(getattr(type(value), method, None)) else None
    drawn = method_found() if method_found is not None else None
    return drawn[0] if isinstance(drawn, tuple) else drawn


def _of_bytes(data: bytes, label: str) -> MessageAttachment:
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
    r"""Returns the media type of a picture that agents take, by its first bytes; None for anything else.

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
    """Returns *described* with *notes* on why it has no picture."""
    if not notes:
        return described
    text = "\n".join((described.model_representation or "", *notes))
    return replace(described, model_representation=text, meta={LEFT_OUT: list(notes)})


def _base64(data: bytes | str) -> str:
    return data if isinstance(data, str) else base64.b64encode(data).decode()
