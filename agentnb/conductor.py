"""Runs a chain of components: `python -m agentnb.conductor agent "proxy" … "agent"`."""

from __future__ import annotations

from runpy import run_module

if __name__ == "__main__":
    run_module("agentnb.plugins.chain.conductor", run_name="__main__", alter_sys=True)
