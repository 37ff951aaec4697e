"""The order of the unit tests, and which of them are slow.

The longest files come first, then those of some seconds (``FIRST``), so that no worker runs a long file alone at the
end.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

LONGEST = {
    "test_schedules.py",
    "test_undo_machine.py",
    "test_linear_time.py",
    "test_both_languages.py",
    "test_laws.py",
    "test_hostile_code.py",
}
"""Long-running files that only compute; ``make test-fast`` leaves them out."""
FIRST = (
    "server/test_schedules.py",
    "host/test_failures.py",  # waits
    "changes/test_undo_machine.py",
    "state/test_both_languages.py",
    "unit/test_linear_time.py",
    "rehearsal/test_command.py",  # waits
    "knowledge/test_hostile_code.py",
    "agent/test_process.py",  # waits
    "chain/test_last_messages.py",
    "rehearsal/test_rehearsals.py",  # waits
    "api/test_history.py",
    "cassette/test_switch.py",
    "ipython/test_bounded_look.py",  # waits
    "ipython/test_markdown.py",
    "map/test_cluster_workers.py",
    "kernel/test_job_queue.py",  # waits
    "policy/test_dangerous.py",
    "rehearsal/test_inherited.py",
    "knowledge/test_language_server.py",  # waits
    "host/test_permissions.py",
    "cassette/test_files.py",
    "server/test_history_arrangement.py",  # waits
    "cassette/test_replay.py",
    "host/test_restore.py",
    "agent/test_registry.py",  # waits
    "policy/test_escape.py",
    "log/test_store.py",
    "server/websocket/test_bad_input.py",  # waits
    "ipython/test_attacks.py",
    "state/test_laws.py",
    "state/test_round_trip.py",
)
"""The files that start first, the longest before the others; those that wait alternate with those that only compute."""
WITH_PROCESSES = {
    "acp", "agent", "api", "cassette", "chain", "changes", "checkup", "cli", "eliza", "evaluate", "events",
    "export", "host", "local", "log", "map", "plugins", "rehearsal", "sandbox",
}  # fmt: skip
"""Folders whose tests start agents, kernels or git."""
FILES_WITH_PROCESSES = {
    "knowledge/test_code_service.py",
    "server/test_agent_sessions_of_page.py",
    "server/test_chat_requests.py",
    "server/test_frontend.py",
    "server/test_history_arrangement.py",
    "server/test_install_requests.py",
    "ipython/test_batch_command.py",
    "ipython/test_extension.py",
    "ipython/test_bounded_look.py",
    "ipython/test_policy_table.py",
    "kernel/test_cell_proposals.py",
    "kernel/test_kernel_access.py",
    "test_concurrent_imports.py",
    "test_named_skips.py",
    "test_programs_without_packages.py",
}


@pytest.fixture
def heeded() -> Iterator[None]:
    """Makes SIGINT raise KeyboardInterrupt; background processes and xdist's workers ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests of long files first and keeps the others' order."""
    places = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: min(places.get(name, len(places)) for name in _names(item)))
    for item in items:
        starts = item.path.parent.name in WITH_PROCESSES or not FILES_WITH_PROCESSES.isdisjoint(_names(item))
        if item.path.name in LONGEST or starts:
            item.add_marker(pytest.mark.slow)


def _names(item: pytest.Item) -> tuple[str, str]:
    """Returns the file's name, without and with its folder's."""
    return item.path.name, f"{item.path.parent.name}/{item.path.name}"


Site = Callable[..., Path]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Writes the site's policy file; *name* chooses a later folder in Jupyter's order."""
    names = ("first", "second")
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", os.pathsep.join(str(tmp_path / name) for name in names))
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "user"))

    def write(text: str, name: str = "first") -> Path:
        path = tmp_path / name / "agentnb/policy.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write
