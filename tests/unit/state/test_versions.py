"""Versions of the protocol: the window, the table of actions, and what two sides agree on."""

from __future__ import annotations

from typing import Any

import pytest

from agentnb.errors import UnsupportedVersion
from agentnb.state import UnknownAction, codec
from agentnb.state.action import KnownAction
from agentnb.state.session_actions import SessionActiveClientRemoved, SessionReady
from agentnb.state.versions import INTRODUCED, WINDOW, Window, is_known_in, is_reduced_by_page, negotiate


def subclasses(kind: type[Any]) -> set[type[Any]]:
    """All classes below *kind* that have none below them."""
    return {below for one in kind.__subclasses__() for below in (subclasses(one) or {one})}


def test_every_action_says_which_version_brought_it() -> None:
    """The table has each action class that there is, and nothing else."""
    tags = {str(kind.__struct_config__.tag) for kind in subclasses(KnownAction)}
    assert tags == INTRODUCED.keys() == codec.ACTIONS.keys()


def test_no_action_is_newer_than_what_we_speak() -> None:
    """An action that comes with a new version needs the window to say so."""
    assert {version for version in INTRODUCED.values() if version not in range(1, WINDOW.current + 1)} == set()
    assert WINDOW.oldest <= WINDOW.current


@pytest.mark.parametrize(
    ("theirs", "ours", "agreed"),
    [((1,), Window(1, 1), 1), ((1, 2, 3), Window(1, 2), 2), ((3, 2), Window(2, 5), 3), ((1, 4), Window(1, 2), 1)],
)
def test_two_sides_agree_on_the_highest_version_that_both_speak(
    theirs: tuple[int, ...], ours: Window, agreed: int
) -> None:
    """Whatever the order in which the page names its versions."""
    assert negotiate(theirs, ours) == agreed


@pytest.mark.parametrize(
    ("theirs", "advice"),
    [((1,), "Reload the page"), ((), "Reload the page"), ((4, 5), "restart the kernel")],
)
def test_without_a_common_version_the_older_side_is_to_be_renewed(theirs: tuple[int, ...], advice: str) -> None:
    """An old page is reloaded; an old kernel gets a newer agentnb."""
    with pytest.raises(UnsupportedVersion, match=advice) as caught:
        negotiate(theirs, Window(2, 3))
    assert "2 to 3" in str(caught.value)


def test_an_action_is_known_from_its_version_on() -> None:
    """An older peer cannot reduce it; one of a type that nobody knows makes no difference to anybody."""
    assert [is_known_in(SessionReady(), version) for version in (0, 1, 2)] == [False, True, True]
    assert is_known_in(UnknownAction({"type": "chat/notYetKnown"}), 0)


def test_a_page_does_not_reduce_what_no_view_shows() -> None:
    """Nor what is newer than the version that it speaks."""
    removed = SessionActiveClientRemoved(client_id="c")
    assert [is_reduced_by_page(SessionReady(), version) for version in (0, 1)] == [False, True]
    assert (is_reduced_by_page(removed, 1), is_known_in(removed, 1)) == (False, True)
