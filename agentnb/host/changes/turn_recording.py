"""Puts the files that a turn changed into the cassette that is being recorded, so that a replay has them, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.acp.listener import ChangedFile
from agentnb.host.changes.items import stored_content
from agentnb.policy.sensitive import secret_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentnb.changes.model import PathChange
    from agentnb.changes.store import ChangeStore
    from agentnb.host.agents.agent_lifecycle import AgentLifecycle
    from agentnb.host.changes.workspace_store import WorkspaceStore
    from agentnb.host.environment import Environment


class TurnRecording:
    """The recording of one session's files."""

    def __init__(self, lifecycle: AgentLifecycle, environment: Environment) -> None:
        self._lifecycle = lifecycle
        self._environment = environment

    def owns(self, path: Path) -> bool:
        """True if *path* is the cassette's: recording it is no change of a turn."""
        return self._environment.cassette.owns(path)

    async def record(self, store: WorkspaceStore, changes: Sequence[PathChange]) -> None:
        """Record *changes* as those of the last turn; nothing where nothing is recorded."""
        agent, session_id = self._lifecycle.agent, self._lifecycle.session_id
        tap = None if agent is None else agent.tap
        if tap is None or not tap.takes_files or session_id is None or not changes:
            return
        workspace, patterns, cassette = store.workspace, store.patterns, self._environment.cassette

        def is_sensitive(change: PathChange) -> bool:
            paths = filter(None, (change.path, change.was))
            return any(secret_pattern(path, patterns) is not None for path in paths)

        def record_all(store: ChangeStore) -> None:
            files = [
                ChangedFile(
                    each, stored_content(store, each.before), stored_content(store, each.after), is_sensitive(each)
                )
                for each in changes
            ]
            tap.changed_files(session_id, files, lambda path: cassette.is_notebook(workspace / path))

        await store.run(record_all)
