"""The kernel as a host of the Agent Host Protocol (AHP): other clients join its conversations over WebSocket.

One transport beside the page's comm, over the same service (`agentnb.comm.service`). `projection` says the host's
state and actions in AHP's words; `feed` numbers them; `connection` speaks to one client; `server` listens.
"""
