"""One conversation with eliza: beside what was said, its settings and its listener."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.session import AcpSession
from agentnb.plugins.eliza.doctor import Doctor
from agentnb.plugins.eliza.settings import ElizaSettings

if TYPE_CHECKING:
    from typing_extensions import Self


class ElizaSession(AcpSession):
    """One conversation with eliza."""

    settings: ElizaSettings = msgspec.field(default_factory=ElizaSettings)
    doctor: Doctor = msgspec.field(default_factory=Doctor)

    def record(self) -> dict[str, Any]:
        """Everything that outlives the process, as JSON."""
        options = dict(self.settings.values)
        own = {"mode": self.settings.mode_id, "options": options, "doctor": self.doctor.state()}
        return {**super().record(), **own}

    @classmethod
    def restore(cls, record: dict[str, Any], **own: Any) -> Self:
        """The session that gave *record*."""
        settings = ElizaSettings(record["mode"], dict(record["options"]))
        return super().restore(record, settings=settings, doctor=Doctor.restore(None, record["doctor"]), **own)
