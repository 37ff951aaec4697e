"""Untrusted skills: with any links, names and front matter, nothing else is read and nothing grows.

The inside: security, with generated files.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.skills.skill_files import digest_of, files_of, read_file, read_front_matter

NAMES = ("a", "b", "c")
TARGETS = st.sampled_from(
    [".", "..", "../..", "a", "b/a", "../a", "self", "{outside}", "{outside}/hidden", "../hidden"]
)
TREES = st.recursive(
    st.one_of(st.just("text"), TARGETS.map(lambda target: ("link", target))),
    lambda inner: st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=8,
)
PATHS = st.lists(st.sampled_from([*NAMES, "..", ".", "self", "hidden", "outside"]), min_size=1, max_size=6).map(
    "/".join
)
VALUES = st.sampled_from(["&a x", "*a", "&a [*a, *a]", "!!str x", "{a: *b}", "<<: *a", "|", ">", '"x"', "'x'", "x", ""])
LINES = st.tuples(st.sampled_from(["name", "a", "b", "metadata", "  a", "- a", "? a"]), VALUES).map(": ".join)


def build(folder: Path, tree: object, outside: Path) -> None:
    """Creates the texts, links and folders of *tree*."""
    if isinstance(tree, dict):
        folder.mkdir()
        for name, inner in tree.items():
            build(folder / name, inner, outside)
    elif isinstance(tree, tuple):
        folder.symlink_to(tree[1].format(outside=outside))
    else:
        folder.write_text("inside")


@given(tree=st.dictionaries(st.sampled_from(NAMES), TREES), paths=st.lists(PATHS, max_size=12))
def test_only_files_in_the_skill_folder_are_read(tree: dict[str, object], paths: list[str]) -> None:
    """Circular links, links out and ``..`` in any order: a file is the skill's own or refused."""
    with tempfile.TemporaryDirectory() as made:
        outside, folder = Path(made) / "outside", Path(made) / "skill"
        outside.mkdir()
        for secret in (outside / "hidden", Path(made) / "hidden"):
            secret.write_text("hidden")
        build(folder, tree, outside)
        read = set()
        for path in [*paths, *files_of(folder)]:
            with contextlib.suppress(UsageError):
                read.add(read_file(folder, path))
        assert read <= {"inside"}
        assert len(digest_of(folder)) == 64


@given(st.lists(LINES, max_size=30))
def test_front_matter_values_are_not_longer_than_the_text(lines: list[str]) -> None:
    """Anchors, aliases, tags, merges and nested collections are refused; values are no longer than the text."""
    text = "\n".join(lines)
    with contextlib.suppress(ValueError):
        front_matter = read_front_matter(f"---\n{text}\n---\n")
        values = [value if isinstance(value, str) else "".join(value.values()) for value in front_matter.values()]
        assert sum(map(len, values)) <= len(text)
        assert not any(value.startswith(("&", "*", "!", "{", "[")) for value in values)


@given(st.lists(st.sampled_from([*"ab:-|>'\"&*!{[\n #\\", "---\n", "name: "])).map("".join))
def test_any_front_matter_is_read_or_rejected(text: str) -> None:
    """No other exception is raised, and values are text."""
    with contextlib.suppress(ValueError):
        front_matter = read_front_matter(f"---\n{text}\n---\nBody")
        assert all(isinstance(value, str | dict) for value in front_matter.values())
