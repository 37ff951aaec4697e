"""The action log: what every channel accepted, in order; bounded in memory, durable in a file."""

from __future__ import annotations

from agentnb.log.channel_log import ChannelLog
from agentnb.log.merge import merge_envelopes

__all__ = ["ChannelLog", "merge_envelopes"]
