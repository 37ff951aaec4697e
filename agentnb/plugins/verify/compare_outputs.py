"""Compares what a cell shows with what it gives now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.plugins.verify.compare_pictures import compare_pictures
from agentnb.plugins.verify.compare_text import Difference, compare_texts, same_words
from agentnb.plugins.verify.notebook_text import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDGET = "application/vnd.jupyter.widget-view+json"
_UNREADABLE = ("application/javascript", "text/javascript")
_LARGE = ("image/jpeg", "application/pdf", "image/gif", "video/mp4")
_NAMELESS = ("<IPython.", "<Figure", "<pandas.io.formats.style", "alt.", "<Axes", "Figure(", "<folium", "<graphviz")

Output = dict[str, Any]


def has_same_words(stored: Sequence[Output], now: Sequence[Output]) -> bool:
    """True if the texts of two outputs have the same words, in whatever order."""
    texts = [
        "\n".join([_printed(each), *(text_of(one.get("text/plain", "")) for one in _displays(each))])
        for each in (stored, now)
    ]
    return same_words(*texts)


def compare_outputs(stored: Sequence[Output], now: Sequence[Output]) -> Difference | None:
    """The first difference that counts; None where there is none. What goes to stderr is not compared."""
    mild = compare_texts(_printed(stored), _printed(now))
    if mild is not None and same_words(_printed(stored), _printed(now)):
        mild = None if _is_listing(_printed(stored), _printed(now)) else mild
    if mild is not None and not mild.is_mild:
        return mild
    before, after = _displays(stored), _displays(now)
    for old, new in zip(before, after, strict=False):
        difference = _compare_bundles(old, new)
        if difference is not None and not difference.is_mild:
            return difference
        mild = mild or difference
    if len(before) != len(after):
        return Difference("text", _names(before[len(after) :]), _names(after[len(before) :]))
    old_error, new_error = _error(stored), _error(now)
    if old_error and new_error and old_error != new_error:
        return Difference("text", old_error, new_error)
    if old_error and not new_error:
        return Difference("text", old_error, "no error")
    return mild


def _is_listing(stored: str, now: str) -> bool:
    """True if a terminal's columns became lines."""
    return len(stored.split("\n")) != len(now.split("\n"))


def _printed(outputs: Sequence[Output]) -> str:
    streams = [each for each in outputs if each.get("output_type") == "stream" and each.get("name") != "stderr"]
    return "".join(text_of(each.get("text", "")) for each in streams)


def _displays(outputs: Sequence[Output]) -> list[dict[str, Any]]:
    kinds = {"execute_result", "display_data"}
    bundles = [each.get("data") for each in outputs if each.get("output_type") in kinds]
    return [each for each in bundles if isinstance(each, dict) and each and WIDGET not in each and not _is_script(each)]


def _is_script(bundle: dict[str, Any]) -> bool:
    return any(kind in bundle for kind in _UNREADABLE)


def _compare_bundles(stored: dict[str, Any], now: dict[str, Any]) -> Difference | None:
    if "image/png" in stored and "image/png" in now:
        why = compare_pictures(text_of(stored["image/png"]), text_of(now["image/png"]))
        return Difference("text", "a picture", why) if why else None
    plain = [text_of(each.get("text/plain", "")) for each in (stored, now)]
    readable = "text/plain" in stored and "text/plain" in now and not plain[0].lstrip().startswith(_NAMELESS)
    if readable:
        return compare_texts(*plain)
    for kind in sorted(stored.keys() & now.keys()):
        if kind.startswith(_LARGE) or kind == "text/plain":
            continue
        difference = compare_texts(text_of(stored[kind]), text_of(now[kind]))
        if difference is not None:
            return difference
    if stored.keys().isdisjoint(now.keys()):
        return Difference("text", ", ".join(stored), ", ".join(now))
    return None


def _names(bundles: Sequence[dict[str, Any]]) -> str:
    texts = [text_of(each.get("text/plain") or ", ".join(each)).strip() for each in bundles]
    return "\n".join(each.partition("\n")[0][:200] for each in texts[:3]) or "nothing"


def _error(outputs: Sequence[Output]) -> str:
    error = next((each for each in outputs if each.get("output_type") == "error"), None)
    return str(error.get("ename", "error")) if error else ""
