"""Tensors, modules and optimizers of PyTorch, where it is installed: what is seen of them and what it costs."""

from __future__ import annotations

from collections.abc import Callable
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


def _learn(network: Any) -> None:
    optimizer = torch.optim.Adam(network.parameters())
    network(torch.randn(5, 3)).sum().backward()
    optimizer.step()


def _step(optimizer: Any) -> None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.ones_like(parameter)
    optimizer.step()


def _in_inference(change: Callable[[Any], Any]) -> Callable[[Any], None]:
    def run(tensor: Any) -> None:
        with torch.inference_mode():
            change(tensor)

    return run


def _inference_tensor() -> Any:
    with torch.inference_mode():
        return torch.ones(3)


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "an operation in place": (lambda: torch.ones(3), lambda x: x.add_(1)),
    "an element": (lambda: torch.ones(3, 4), lambda x: x.__setitem__((1, 1), 5)),
    "a parameter's data": (lambda: torch.nn.Parameter(torch.ones(3)), lambda x: x.data.add_(1)),
    "the array that shares its memory": (lambda: torch.ones(3), lambda x: x.numpy().__setitem__(0, 5)),
    "a part that is not contiguous": (lambda: torch.ones(3, 4).t(), lambda x: x.data.mul_(2)),
    "bfloat16": (lambda: torch.ones(3, dtype=torch.bfloat16), lambda x: x.data.add_(1)),
    "complex numbers": (lambda: torch.ones(3, dtype=torch.complex128), lambda x: x.data.add_(1)),
    "truth values": (lambda: torch.ones(3, dtype=torch.bool), lambda x: x.data.logical_not_()),
    "a tensor without a dimension": (lambda: torch.tensor(1.0), lambda x: x.data.add_(1)),
    "a sparse tensor": (lambda: torch.eye(9).to_sparse(), lambda x: x.mul_(2)),
    "a tensor of inference mode": (_inference_tensor, _in_inference(lambda x: x.add_(1))),
    "whether it has a gradient": (lambda: torch.ones(3), lambda x: x.requires_grad_()),
    "its gradient": (lambda: torch.ones(3, requires_grad=True), lambda x: x.sum().backward()),
    "a network that learns": (Net, _learn),
    "a layer that learns": (lambda: torch.nn.Sequential(torch.nn.Linear(3, 3)), _learn),
    "a network's mode": (lambda: torch.nn.Linear(3, 3), lambda x: x.eval()),
    "running figures": (lambda: torch.nn.BatchNorm1d(3), lambda x: x(torch.randn(5, 3))),
    "a layer that is added": (torch.nn.Sequential, lambda x: x.append(torch.nn.Linear(3, 3))),
    "an optimizer's step": (lambda: torch.optim.Adam(Net().parameters()), _step),
    "an optimizer's rate": (
        lambda: torch.optim.SGD(Net().parameters(), lr=0.1),
        lambda x: x.param_groups[0].__setitem__("lr", 0.2),
    ),
}


def kept(value: Any) -> VariableSnapshot:
    return Keeper({"x": value}, LIMIT).keep(["x"])


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_in_place_is_seen_and_taken_back_or_was_lost(what: str) -> None:
    """Nothing is seen until the object is changed, and nothing once it is restored."""
    make, change = CHANGES[what]
    value = make()
    snapshot = kept(value)
    assert snapshot.changed() == []
    if what == "a sparse tensor":
        assert snapshot.lost == {"x": "Tensor"}
        return
    change(value)
    changed = snapshot.changed()
    assert (snapshot.lost, changed != []) == ({}, True)
    for each in changed:
        each.state.restore(each.follow())
    assert snapshot.changed() == []


def test_no_code_of_a_subclass_runs() -> None:
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


def test_a_network_whose_init_did_not_run_is_no_error() -> None:
    """A class that forgot to call its base's ``__init__`` has no layers; nothing is raised."""
    assert kept(Net.__new__(Net)).lost == {}


SUMMARIES = {
    "plain": (lambda: torch.ones(3, 4), "Tensor (3, 4) torch.float32", 48),
    "with a gradient": (lambda: torch.ones(3, requires_grad=True), "Tensor (3,) torch.float32, with gradient", 12),
    "on another device": (lambda: torch.ones(3, device="meta"), "Tensor (3,) torch.float32 on meta", 0),
    "sparse": (lambda: torch.eye(9).to_sparse(), "Tensor (9, 9) torch.float32", 9 * 20),
}


@pytest.mark.parametrize("what", SUMMARIES)
def test_a_tensor_is_summarized_with_its_size(what: str) -> None:
    """Shape, type, device and gradient in a line; the memory is that of the data."""
    make, text, size = SUMMARIES[what]
    value = make()
    assert (summarize_value(value, "value").text, estimated_size(value)) == (text, size)
