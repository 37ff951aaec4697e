"""The scripted model server, and completions requested as a page requests them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import agentnb
from agentnb.host import current_host
from agentnb.plugins.inline.completion import CompleteParams, CompletionResult, complete
from agentnb.plugins.inline.model_completion import close_servers

Complete = Callable[..., CompletionResult]
SECONDS = 60


@pytest.fixture
def ask() -> Complete:
    """Requests a completion on the host's thread."""

    def completion(prefix: str, **fields: object) -> CompletionResult:
        params = CompleteParams(**{"id": "one", "prefix": prefix, **fields})  # type: ignore[arg-type]
        return current_host().loop.submit(complete(params)).result(SECONDS)

    return completion


@pytest.fixture
def by(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Sets who completes."""

    def choose(who: str, url: str = "", model: str = "fills") -> None:
        agentnb.settings().set("completion", who)
        monkeypatch.setenv("AGENTNB_LOCAL_URL", url)
        monkeypatch.setenv("AGENTNB_LOCAL_MODEL", model)

    yield choose
    agentnb.settings().reset("completion")
    current_host().loop.submit(close_servers()).result(SECONDS)
