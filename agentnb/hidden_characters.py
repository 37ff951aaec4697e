"""Invisible characters, and marks that change the order of the characters beside them."""

from __future__ import annotations

HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Ranges for a set in a regular expression, without the characters of emoji and scripts (`JOINERS`, variations)."""

JOINERS = "\u200c\u200d"
"""Characters that join letters and emoji, or keep them apart: visible by that effect, and invisible in a command."""

CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""Control characters except tab, line feed and carriage return."""
