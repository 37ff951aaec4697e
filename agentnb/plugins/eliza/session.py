"""One conversation with eliza: beside what was said, its settings and its listener."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from agentnb.plugins.acp_agent.session import Session as AcpSession
from agentnb.plugins.acp_agent.session import restored_exchanges
from agentnb.plugins.eliza.doctor import Doctor
from agentnb.plugins.eliza.settings import Settings


class Session(AcpSession):
    """One conversation with eliza."""

    settings: Settings = msgspec.field(default_factory=Settings)
    doctor: Doctor = msgspec.field(default_factory=Doctor)

    def record(self) -> dict[str, Any]:
        """Everything that outlives the process, as JSON."""
        return {
            "version": 1,
            "session_id": self.session_id,
            "cwd": str(self.cwd),
            "title": self.title,
            "updated_at": self.updated_at,
            "mode": self.settings.mode_id,
            "options": dict(self.settings.values),
            "doctor": self.doctor.state(),
            "exchanges": self.saved_exchanges(),
        }

    @classmethod
    def restore(cls, record: dict[str, Any]) -> Session:
        """The session that gave `record`."""
        return cls(
            session_id=record["session_id"],
            cwd=Path(record["cwd"]),
            title=record["title"],
            updated_at=record["updated_at"],
            settings=Settings(record["mode"], dict(record["options"])),
            doctor=Doctor.restore(None, record["doctor"]),
            exchanges=restored_exchanges(record["exchanges"]),
        )
