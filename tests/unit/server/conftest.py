"""A host without an agent, and an in-memory page that speaks the protocol to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentnb.agent.catalog import find
from agentnb.host import Host
from agentnb.host.conversation import Conversation


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.close()


@pytest.fixture
def conversation(host: Host, tmp_path: Path) -> Conversation:
    """A session without a running agent."""
    return host.loop.call(lambda: host.open(find("eliza"), cwd=tmp_path))
