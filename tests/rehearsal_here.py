"""Checks if commands can be rehearsed on this machine, once in each process."""

from __future__ import annotations

import pytest

import agentnb

HERE = agentnb.rehearse(command="true", cwd="/")
needs_namespaces = pytest.mark.skipif(HERE.way != "namespaces", reason=HERE.reason or "no user namespaces here")
