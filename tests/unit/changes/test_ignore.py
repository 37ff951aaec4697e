"""The inside: generated ignore rules mean the same as in git, and no pattern makes them slow."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import pytest

from agentnb.changes.ignore import is_ignored, literal, matches_name, matches_path, read_rules

NAMES = ["a", "b", "build", "x.log", "keep.log", "x.pyc", "d e", "[z]", "ab"]
PATTERNS = [
    "a",
    "/a",
    "b/",
    "*.log",
    "!keep.log",
    "**/b",
    "a/**",
    "a/**/b",
    "*.py[co]",
    "!a",
    "/build/",
    "a/b",
    "build/*",
    "!build/a",
    "?",
    "[ab]",
    "[!ab]",
    "x*",
    "*",
    "!*.log",
    "a/*/b",
    "\\[z\\]",
    "d\\",
    "e",
    "**/a/b",
    "***",
    "a**b",
    "[a-b]b",
    "[]z]",
    "/**/x.log",
    "**",
    "/*/",
    "a/",
    "!a/b",
    "#a",
    "\\#a",
    "[ab",
    "a\\",
]


@pytest.mark.parametrize("seed", range(3))
def test_ignored_files_are_the_same_as_in_git(tmp_path: Path, seed: int) -> None:
    """Many folders with their own rules in one repository."""
    chance = random.Random(seed)
    subprocess.run(["git", "init", "--quiet", "."], cwd=tmp_path, check=True)
    rules = {}
    for number in range(40):
        text = "\n".join(chance.sample(PATTERNS, chance.randint(1, 4))) + "\n"
        rules[f"r{number}"] = read_rules(text)
        for _ in range(10):
            path = tmp_path / f"r{number}" / "/".join(chance.choice(NAMES) for _ in range(chance.randint(1, 3)))
            if not any(above.is_file() for above in path.parents) and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        (tmp_path / f"r{number}/.gitignore").write_text(text)
    command = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout.decode().split("\0")
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("r*/**/*") if path.is_file()]
    kept = {path.as_posix() for path in files if not is_ignored(rules[path.parts[0]], "/".join(path.parts[1:]))}
    assert kept == {each for each in listed if each.startswith("r")}


@pytest.mark.parametrize("name", ["a*b", "[x]", "!a", "#a", "a b ", "back\\slash", "a?"])
def test_literal_pattern_matches_only_its_name(name: str) -> None:
    """Also with special characters."""
    [rule] = read_rules(f"/{literal(name)}/")
    assert matches_path(rule.parts, [name])
    assert not matches_path(rule.parts, [f"{name}x"])
    assert not matches_path(rule.parts, ["ab"])


def test_hostile_patterns_match_in_bounded_time() -> None:
    """A regular expression would never end."""
    began = time.thread_time()
    assert not matches_name("*a" * 60 + "b", "a" * 250)
    assert not matches_path(tuple(["**", "a"] * 30 + ["b"]), ["a"] * 250)
    assert time.thread_time() - began < 2
