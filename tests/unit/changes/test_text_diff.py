"""The inside: generated texts, whose differences and merges must be exact."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb.changes.text_diff import count_lines, matches, merge, text_lines, unified
from tests.thorough import examples

lines = st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"long line\n"])
texts = st.builds(lambda body, end: b"".join(body) + end, st.lists(lines, max_size=8), st.sampled_from([b"", b"end"]))


@settings(max_examples=examples(80))
@given(old=texts, new=texts)
def test_matches_are_equal_lines_in_order(old: bytes, new: bytes) -> None:
    """The lines between them were added or removed."""
    before, after = text_lines(old), text_lines(new)
    assert before is not None
    assert after is not None
    equal_parts = matches(before, after)
    assert all(before[at : at + size] == after[other : other + size] for at, other, size in equal_parts)
    assert equal_parts == sorted(equal_parts)
    assert all(one[0] + one[2] <= two[0] and one[1] + one[2] <= two[1] for one, two in itertools.pairwise(equal_parts))
    same = sum(size for _, _, size in equal_parts)
    assert count_lines(old, new) == (len(after) - same, len(before) - same)


@settings(max_examples=examples(80))
@given(base=texts, other=texts)
def test_merge_with_one_unchanged_side_is_the_other_side(base: bytes, other: bytes) -> None:
    """Equal changes on both sides give that text, too."""
    assert merge(base, base, other) == (other, True)
    assert merge(base, other, base) == (other, True)
    assert merge(base, other, other) == (other, True)


@settings(max_examples=examples(80))
@given(base=texts, mine=texts, theirs=texts)
def test_clean_merge_has_every_added_line(base: bytes, mine: bytes, theirs: bytes) -> None:
    """No user's line is lost without a conflict."""
    merged, is_clean = merge(base, mine, theirs)
    assert merged is not None
    if is_clean:
        for side in (mine, theirs):
            for line in set(text_lines(side) or []) - set(text_lines(base) or []):
                assert line.rstrip(b"\n") in merged


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"1\n2\n3\n", b"1\n3\n"),
        (b"", b"a"),
        (b"a", b""),
        (b"a\nb", b"a\nb\n"),
        (b"".join(b"%d\n" % n for n in range(40)), b"".join(b"%d\n" % (n + n % 11 // 10) for n in range(40))),
    ],
)
def test_git_apply_of_a_unified_diff_gives_the_new_text(tmp_path: Path, old: bytes, new: bytes) -> None:
    (tmp_path / "x").write_bytes(old)
    subprocess.run(["git", "init", "--quiet", "."], cwd=tmp_path, check=True)
    patch = unified(old, new, "a/x", "b/x").encode()
    subprocess.run(["git", "apply", "--unidiff-zero", "-"], cwd=tmp_path, input=patch, check=True)
    assert (tmp_path / "x").read_bytes() == new


@pytest.mark.parametrize("content", [b"\0", b"\xff\xfe", b"x" * 6_000_000])
def test_binary_or_very_long_content_is_not_compared_by_lines(content: bytes) -> None:
    """Its lines are not counted, and it is never merged."""
    assert count_lines(content, b"a") == (None, None)
    assert merge(content, b"a", b"b") == (None, False)
    assert unified(content, b"a", "a/x", "b/x") == "Binary files a/x and b/x differ\n"
