"""Untrusted skills: with any links, names and front matter, nothing else is read and nothing grows."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.skills.scan import SkillScan, zipped_packages
from agentnb.plugins.knowledge.skills.skill_files import digest_of, files_of, read_file, read_front_matter, read_skill

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


@pytest.mark.parametrize("kind", ["link out", "link to itself", "pipe", "folder", "device"])
def test_skill_file_that_is_not_a_regular_file_is_rejected(tmp_path: Path, kind: str) -> None:
    """The error has the reason; no pipe blocks."""
    (tmp_path / "hidden").write_text("---\nname: fit\ndescription: Hidden.\n---\n")
    folder = tmp_path / "fit"
    folder.mkdir()
    file = folder / "SKILL.md"
    match kind:
        case "link out":
            file.symlink_to(tmp_path / "hidden")
        case "link to itself":
            file.symlink_to(file)
        case "pipe":
            os.mkfifo(file)
        case "device":
            file.symlink_to("/dev/zero")
        case _:
            file.mkdir()
    with pytest.raises(UsageError, match=r"leads out|cannot be read|is not a file"):
        read_skill(folder)


def test_zipped_egg_is_listed_and_not_searched(tmp_path: Path) -> None:
    """Its contents are not folders; a broken archive does no harm either."""
    egg, broken = tmp_path / "frames-1.0-py3.egg", tmp_path / "other-1.0-py3.egg"
    with zipfile.ZipFile(egg, "w") as archive:
        archive.writestr("frames/.agents/skills/fit/SKILL.md", "---\nname: fit\ndescription: Fits.\n---\n")
        archive.writestr("frames-1.0.dist-info/RECORD", "frames/.agents/skills/fit/SKILL.md,,\n")
    broken.write_bytes(b"PK\x03\x04")
    paths = [str(egg), str(broken), str(tmp_path)]
    assert (SkillScan(paths).installed(), zipped_packages(paths)) == ([], paths[:2])
