"""The outputs of one shell's cells, as far as the kernel sees them: for mentions where no page reports them."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import sys
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from agentnb.kernel.output_text import CHARTS, FIGURES, LARGEST_PICTURE, LONGEST_CHART, PICTURES, ends

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def is_running_cell(shell: Any) -> bool:
    trap = shell.display_trap
    active = getattr(trap, "is_active", None)
    return bool(trap._nested_level if active is None else active)  # noqa: SLF001 - IPython 8.18 to 9.0 have nothing else


MOST_CELLS = 50
"""Cells whose displays are remembered; the oldest are forgotten first."""
MOST_DISPLAYS = 50
"""Displays of one cell that are remembered."""
LARGEST = 32 * 1024 * 1024
"""Characters of all displays that are remembered."""
_LARGEST_PICTURE = LARGEST_PICTURE * 4 // 3 + 4  # in base64
_ATTRIBUTE = "_agentnb_outputs"
_LIVE_DPI = 100


class CellOutputs:
    """The outputs of one shell's cells. Usable from any thread; displays are noted on the main thread."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._lock = threading.Lock()
        self._displays: OrderedDict[int, list[_Display]] = OrderedDict()
        self._count: int | None = None
        self._clears = False
        self._hooked = False

    def follow(self) -> None:
        """From now on, record what cells display."""
        self._shell.events.register("pre_run_cell", self._cell_begins)
        if threading.current_thread() is threading.main_thread() and is_running_cell(self._shell):
            self._begin()

    def of(self, count: int) -> list[dict[str, Any]]:
        """The outputs of the cell with this execution count, as in a notebook file: streams, displays and result."""
        history = self._shell.history_manager
        kept = getattr(history, "outputs", {}).get(count, ())
        printed = [_stream(each) for each in [*kept] if each.output_type in {"out_stream", "err_stream"}]
        results = [_result(each.bundle) for each in [*kept] if each.output_type == "execute_result"]
        displays = [_result(each.bundle, "display_data") for each in [*kept] if each.output_type == "display_data"]
        if not results and (text := getattr(history, "output_hist_reprs", {}).get(count)):
            results = [_result({"text/plain": text})]
        with self._lock:
            own = [_result(each.data, "display_data") for each in self._displays.get(count, ())]
        return [*printed, *(own or displays), *results]

    @property
    def last_figure(self) -> int | None:
        """The execution count of the last cell that showed a figure; None if none has."""
        kept = getattr(self._shell.history_manager, "outputs", {})
        with self._lock:
            counts = {count for count, shows in self._displays.items() if any(_is_figure(one.data) for one in shows)}
        counts |= {count for count, shows in [*kept.items()] if any(_is_figure(one.bundle) for one in [*shows])}
        return max(counts, default=None)

    def _cell_begins(self, info: Any) -> None:
        if info.store_history:
            self._begin()

    def _begin(self) -> None:
        count = self._shell.displayhook.prompt_count  # IPython 9.18 increments it before a cell runs, others after
        with self._lock:
            self._count = count
            self._displays.pop(count, None)
        publisher = self._shell.display_pub
        if not self._hooked and hasattr(publisher, "register_hook"):
            self._hooked = True
            publisher.register_hook(self._published)  # hooks are per thread: cells run on this one

    def _published(self, message: Any) -> Any:
        with self._lock, contextlib.suppress(Exception):  # an error here must not stop the display
            self._note(message["msg_type"], message["content"])
        return message

    def _note(self, kind: str, content: Mapping[str, Any]) -> None:
        if kind == "clear_output":
            self._clears = bool(content.get("wait"))
            if not self._clears:
                self._displays.pop(self._count or 0, None)
            return
        display = _Display(content)
        if kind == "update_display_data":
            for displays in self._displays.values():
                displays[:] = [display if one.id == display.id else one for one in displays]
            return
        if self._count is None:
            return
        displays = self._displays.setdefault(self._count, [])
        if self._clears:
            displays.clear()
            self._clears = False
        displays.append(display)
        del displays[:-MOST_DISPLAYS]
        self._forget()

    def _forget(self) -> None:
        size = sum(one.size for displays in self._displays.values() for one in displays)
        while len(self._displays) > 1 and (len(self._displays) > MOST_CELLS or size > LARGEST):
            _, oldest = self._displays.popitem(last=False)
            size -= sum(one.size for one in oldest)


class _Display:
    """One displayed output, cut to a bounded size."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.id = content.get("transient", {}).get("display_id")
        self.data = {kind: _bounded(kind, value) for kind, value in content["data"].items()}
        self.size = sum(len(value) for value in self.data.values() if isinstance(value, str))


def has_live_figure() -> bool:
    """True if a figure of matplotlib is open."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return helpers is not None and helpers.Gcf.get_active() is not None


def live_figure() -> bytes | None:
    """Returns matplotlib's active figure as PNG; None if no figure is open. Call it on the main thread only."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    manager = None if helpers is None else helpers.Gcf.get_active()
    if manager is None:
        return None
    drawn = io.BytesIO()
    manager.canvas.figure.savefig(drawn, format="png", dpi=_LIVE_DPI)
    return drawn.getvalue()


def outputs_of(shell: Any) -> CellOutputs:
    outputs: CellOutputs = shell.__dict__.setdefault(_ATTRIBUTE, CellOutputs(shell))
    return outputs


def figures_in(outputs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [each for each in outputs if isinstance(each.get("data"), dict) and _is_figure(each["data"])]


def _is_figure(bundle: Mapping[str, Any]) -> bool:
    return any(kind in FIGURES or CHARTS.fullmatch(str(kind)) for kind in bundle)


def _bounded(kind: str, value: Any) -> Any:
    """The part of a displayed value that is kept; for a picture that is too large, only its size in bytes."""
    value = encoded(value)  # ipykernel publishes bytes
    if isinstance(value, str):
        if kind in PICTURES:
            return value if len(value) <= _LARGEST_PICTURE else len(value) * 3 // 4
        return ends(value)
    return json.dumps(value, default=str)[: LONGEST_CHART + 1] if CHARTS.fullmatch(kind) else None


def _result(bundle: Mapping[str, Any], kind: str = "execute_result") -> dict[str, Any]:
    return {"output_type": kind, "data": {name: encoded(value) for name, value in bundle.items()}}


def _stream(kept: Any) -> dict[str, Any]:
    name = "stdout" if kept.output_type == "out_stream" else "stderr"
    return {"output_type": "stream", "name": name, "text": [*kept.bundle.get("stream", ())]}


def encoded(value: Any) -> Any:
    """A displayed value as JSON, with bytes in base64."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
