"""Tensors, modules and optimizers of PyTorch, if installed: their summaries and their cost.

The inside: no code of a subclass may run.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentnb.kernel.variables.keeper import Keeper
from agentnb.kernel.variables.references import LIMIT
from agentnb.kernel.variables.snapshot import VariableSnapshot
from agentnb.kernel.variables.summary import estimated_size, summarize_value

torch = pytest.importorskip("torch", reason="PyTorch is not installed here (pip install torch)")


class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A network as in the manual."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(3, 3)
        self.rest = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))

    def forward(self, data: Any) -> Any:
        """Apply all layers."""
        return self.rest(self.first(data))


def kept(value: Any) -> VariableSnapshot:
    return Keeper({"x": value}, LIMIT).keep(["x"])


def test_tensor_summary_runs_no_subclass_code() -> None:
    called: list[Any] = []

    class Loud(torch.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called.append(function)
            return super().__torch_function__(function, types, args, kwargs or {})

    value = torch.ones(3).as_subclass(Loud)
    called.clear()
    looked = "x" in kept(value).lost, summarize_value(value, "value").text, estimated_size(value)
    assert (looked, called) == ((False, "Loud (3,) torch.float32", 12), [])


def test_network_without_init_can_be_kept() -> None:
    """A class that forgot to call its base's ``__init__`` has no layers; nothing raises."""
    assert kept(Net.__new__(Net)).lost == {}


SUMMARIES = {
    "plain": (lambda: torch.ones(3, 4), "Tensor (3, 4) torch.float32", 48),
    "with a gradient": (lambda: torch.ones(3, requires_grad=True), "Tensor (3,) torch.float32, with gradient", 12),
    "on another device": (lambda: torch.ones(3, device="meta"), "Tensor (3,) torch.float32 on meta", 0),
    "sparse": (lambda: torch.eye(9).to_sparse(), "Tensor (9, 9) torch.float32", 9 * 20),
}


@pytest.mark.parametrize("what", SUMMARIES)
def test_tensor_summary_has_shape_type_and_size(what: str) -> None:
    """One line has shape, type, device and gradient; the memory is that of the data."""
    make, text, size = SUMMARIES[what]
    value = make()
    assert (summarize_value(value, "value").text, estimated_size(value)) == (text, size)
