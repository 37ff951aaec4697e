"""Speaks another version of ACP."""

import wire

request = wire.receive()
wire.answer(request, {"protocolVersion": 7})
wire.receive()
