"""Classes of libraries that the user may have imported; nothing is imported here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

ARRAYS = ("numpy.ndarray", "torch.Tensor")
FRAMES = ("pandas.DataFrame", "pandas.Series")


def library_class(kind: type[Any], names: Iterable[str]) -> str | None:
    """The first of *names*, such as ``torch.nn.Module``, that *kind* is or extends."""
    for name in names:
        module, _, attribute = name.rpartition(".")
        base = getattr(sys.modules.get(module), attribute, None)
        if isinstance(base, type) and issubclass(kind, base):
            return name
    return None
