"""Loads the ACP SDK in half of its usual time.

The SDK declares some 280 pydantic models. Pydantic prepares a validator for each when it is declared, and reads the
SDK's source for the descriptions of their fields. An agent uses a few models and no description, so both are put off:
the start of eliza costs half as much processor time (0.6 s instead of 1.2 s on the machine it was measured on).
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"  # looking for them reads the metadata of every installed package
_READER = "extract_docstrings_from_cls"


def load_sdk() -> None:
    """Import the SDK; only in a process that does nothing else with pydantic."""
    had = os.environ.get(_PLUGINS)
    os.environ[_PLUGINS] = "__all__"
    try:
        _load()
    finally:  # what eliza runs has the user's environment
        if had is None:
            del os.environ[_PLUGINS]
        else:
            os.environ[_PLUGINS] = had


def _load() -> None:
    import pydantic

    pydantic.BaseModel.model_config = pydantic.ConfigDict(defer_build=True)
    with _no_descriptions():
        import acp  # noqa: F401 - loaded for those who import it next


@contextlib.contextmanager
def _no_descriptions() -> Iterator[None]:
    """Read no source meanwhile; the SDK sets pydantic's switch for it, and where that is not as known it is read."""
    try:
        from pydantic._internal import _fields as fields

        read = getattr(fields, _READER)
    except (ImportError, AttributeError):
        yield
        return
    setattr(fields, _READER, lambda *_, **__: {})
    try:
        yield
    finally:
        setattr(fields, _READER, read)
