"""Thread pools of compiled libraries in a forked process: a fork lacks their threads, and waiting for them hangs.

With only one thread, no pool is used.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress

_HANGING = (("polars", "Polars"),)
_OPENMP = ("libgomp", "libomp", "libiomp")


def calculate_in_one_thread() -> None:
    """Make every OpenMP of this process use only the calling thread from now on."""
    for path in _loaded_openmp():
        with suppress(OSError, AttributeError):
            ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY).omp_set_num_threads(1)
    torch = sys.modules.get("torch")
    if torch is not None:  # PyTorch keeps its own number of threads
        with suppress(Exception):  # it may be only half imported
            torch.set_num_threads(1)


def libraries_that_hang() -> str:
    """Returns the loaded libraries, in words, that hang in a fork whatever is set; '' if there are none."""
    return " and ".join(name for module, name in _HANGING if module in sys.modules)


def _loaded_openmp() -> set[str]:
    """Returns the files of the OpenMP libraries that this process has loaded."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = {line.split(maxsplit=5)[-1].rstrip("\n") for line in maps if "/" in line}
    return {path for path in paths if os.path.basename(path).startswith(_OPENMP)}
