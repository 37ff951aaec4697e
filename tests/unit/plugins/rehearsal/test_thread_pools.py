"""Code with OpenMP, as in PyTorch and scikit-learn, is rehearsed after the kernel has used it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import agentnb

UNAVAILABLE = agentnb.rehearse(command="true")
COMPILER = shutil.which("cc") or shutil.which("gcc")
pytestmark = [
    pytest.mark.skipif(not UNAVAILABLE.available, reason=UNAVAILABLE.reason),
    pytest.mark.skipif(COMPILER is None, reason="no C compiler here"),
]

SOURCE = """
int threads(void) { int count = 0;
#pragma omp parallel reduction(+: count)
count += 1;
return count; }
"""
SCRIPT = """
import ctypes, os, agentnb
os.environ["OMP_NUM_THREADS"] = "3"
library = ctypes.CDLL("./library.so")
print(library.threads())
found = agentnb.rehearse("here = library.threads()")
print(found.error, [each.value for each in found.variables if each.name == "here"])
print(library.threads())
"""


def test_rehearsed_code_can_use_openmp_after_the_kernel_did(tmp_path: Path) -> None:
    """A copy of the process lacks the pool's threads: it uses one thread, and does not wait for the others."""
    assert COMPILER is not None
    (tmp_path / "library.c").write_text(SOURCE)
    compiled = subprocess.run(
        [COMPILER, "-fopenmp", "-shared", "-fPIC", "-o", "library.so", "library.c"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if compiled.returncode:
        pytest.skip(f"no OpenMP here: {compiled.stderr.strip()[-200:]}")
    completed = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert completed.stdout.splitlines() == ["3", "None ['1']", "3"]
