"""The hosted workflow runs only targets of the Makefile, as a contributor can."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
SUPPORTED = re.findall(
    r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8")
)


def commands(workflow: Path) -> list[str]:
    """Returns every command of every step."""
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    return [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]


def test_every_step_of_the_ci_workflow_is_a_make_target() -> None:
    """A contributor can repeat what fails in a hosted job with the same command."""
    steps = commands(ROOT / ".github/workflows/ci.yml")
    assert steps
    assert [step for step in steps if not re.fullmatch(r"make [a-z0-9-]+", step)] == []
    assert {step.removeprefix("make ") for step in steps} - TARGETS == set()


def test_ci_workflow_runs_every_supported_python() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["fast"]["strategy"]["matrix"]["python"] == SUPPORTED
