"""One table of requests, one delivery; the comm and the WebSocket are its transports."""
