"""The kernel as a host of the Agent Host Protocol (AHP): other clients join its conversations over WebSocket."""
