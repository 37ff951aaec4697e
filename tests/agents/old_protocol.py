"""Speaks another version of the protocol."""

import wire

request = wire.receive()
wire.answer(request, {"protocolVersion": 7})
wire.receive()
