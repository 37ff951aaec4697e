"""The user's functions that answer extension methods run in separate threads with a time limit."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event
from typing import Any

from agentnb.host import Host
from agentnb.host.agents.agent_events import THREADS
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import Open, hosted


def test_slow_extension_function_fails_and_blocks_nothing(host: Host, open_session: Open, tmp_path: Path) -> None:
    """More functions hang than there are threads; the agent gets an error for each and still reads files."""
    (tmp_path / "data.txt").write_text("1 2 3", encoding="utf-8")
    session, go_on = open_session("works", mode="allow"), Event()
    hosted(host, session).extensions.seconds = 0.1
    session.on_extension("_zoo/hang", lambda _: go_on.wait(PATIENCE))
    requests: list[tuple[str, dict[str, Any]]] = [("_zoo/hang", {})] * (THREADS + 2)
    requests.append(("fs/read_text_file", {"path": str(tmp_path / "data.txt")}))
    try:
        turn = session.prompt(json.dumps(requests)).wait(PATIENCE)
    finally:
        go_on.set()
    *hung, read = [json.loads(line) for line in turn.text.splitlines()]
    assert ["did not return within 0.1 s" in each["message"] for each in hung] == [True] * (THREADS + 2)
    assert read == {"content": "1 2 3"}


def test_agent_gets_the_error_of_an_extension_function(open_session: Open) -> None:
    """The error names its kind; the session goes on."""
    session = open_session("works")
    session.on_extension("_zoo/feed", lambda params: params["plant"])
    turn = session.prompt(json.dumps([("_zoo/feed", {"animal": "owl"})])).wait(PATIENCE)
    assert "The function for _zoo/feed failed: KeyError" in json.loads(turn.text)["message"]
