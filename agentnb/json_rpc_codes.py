"""The error codes that JSON-RPC 2.0 itself defines (section 5.1); each protocol on top of it adds its own elsewhere."""

from __future__ import annotations

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
