"""The inside: a change keeps the rest of a file, in any TOML and at any moment; which changes allow more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb.configuration.table import SETTINGS, is_wider
from agentnb.errors import PolicyError
from agentnb.policy.store import PolicyFiles
from agentnb.toml_file import change_file, parsed, with_key, without_entry, without_key


def test_change_keeps_an_edit_made_between_read_and_write(tmp_path: Path) -> None:
    """The file is read again."""
    path = tmp_path / "settings.toml"
    path.write_text('agent = "a"\n', encoding="utf-8")
    edits = iter(['agent = "a"\n# by hand\n'])

    def change(text: str) -> str:
        for edit in edits:
            path.write_text(edit, encoding="utf-8")
        return with_key(text, "timeout", 5)

    assert change_file(path, change)
    assert parsed(path.read_text("utf-8")) == {"agent": "a", "timeout": 5}
    assert "# by hand" in path.read_text("utf-8")


def test_forget_removes_only_the_rule_that_was_shown(tmp_path: Path) -> None:
    """Comments of other rules stay; if the file has another rule at that number, nothing is removed."""
    text = '[[rule]]\naction = "deny"\ncommand = "a"\n\n# the second\n[[rule]]\naction = "ask"\ncommand = "b"\n'
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError, match="is no longer 'deny b'"):
        PolicyFiles(path).forget(1, "deny b")
    PolicyFiles(path).forget(1, "deny a")
    assert path.read_text("utf-8") == '# the second\n[[rule]]\naction = "ask"\ncommand = "b"\n'


VALUES = st.one_of(st.booleans(), st.integers(0, 9), st.text(max_size=9), st.lists(st.text(max_size=4), max_size=3))
TOPS = ["# a comment", "", 'a = "x" # behind', "  b = [ # first\n  1,\n]", "c = '''\na = 2\n[d]\n'''", '"a b" = 1']
TABLES = ["[t]\na = 1", "[[rule]]\na = 1", "# above\n[u.v]\n# inside\na = [\n[1]]", "[w]\nab = {a = 1} # }"]
TEXTS = st.tuples(
    st.lists(st.sampled_from(TOPS), max_size=4, unique=True), st.lists(st.sampled_from(TABLES), max_size=3, unique=True)
).map(lambda parts: "\n".join([*parts[0], *parts[1]]))


@settings(max_examples=50)
@given(text=TEXTS, key=st.sampled_from(["a", "b", "c", "ab", "new"]), value=VALUES)
def test_setting_and_removing_a_key_keeps_everything_else(text: str, key: str, value: Any) -> None:
    """All comments and other values stay, wherever the key was."""
    before = parsed(text)
    after = with_key(text, key, value)
    assert parsed(after) == {**before, key: value}
    assert after.count("#") >= text.count("# a comment") + text.count("# above") + text.count("# inside")
    gone = without_key(after, key)
    assert parsed(gone) == {name: each for name, each in before.items() if name != key}


@settings(max_examples=30)
@given(heads=st.lists(st.sampled_from(["a = 1", "a = 2\n# own\nb = '[[rule]]'", "c = '''\n[[rule]]\n'''"]), max_size=4))
def test_removing_an_entry_keeps_the_others(heads: list[str]) -> None:
    """Even if their strings look like entries."""
    text = "top = 1\n" + "\n".join(f"# of {at}\n[[rule]]\n{head}\n" for at, head in enumerate(heads))
    for number in range(1, len(heads) + 1):
        left = parsed(without_entry(text, "rule", number))
        assert left.get("rule", []) == [parsed(head) for at, head in enumerate(heads, 1) if at != number]


def test_is_wider_recognizes_changes_that_allow_more() -> None:
    """A step up an order and a new folder; never a step down, an address or an agent."""
    for which in SETTINGS.values():
        for at, low in enumerate(which.order):
            for high in which.order[at + 1 :]:
                assert (is_wider(which, low, high), is_wider(which, high, low)) == (True, False), which.name
    assert is_wider(SETTINGS["cwd"], "", "/")
    assert not is_wider(SETTINGS["cwd"], "/", "")
    for name in ("agent", "local_url", "local_key_variable", "warm", "language_server"):
        assert not is_wider(SETTINGS[name], "a", "b"), name
