"""The conductor: components in a chain between client and agent (ACP proxies), in this process or for any client.

`python -m agentnb.conductor agent "proxy" … "agent"` runs a chain on stdin and stdout.
"""

from agentnb.conductor.chain import Chain, Failure, Place
from agentnb.conductor.running_chain import ChainProcess, ClientPlace, RunningChain

__all__ = ["Chain", "ChainProcess", "ClientPlace", "Failure", "Place", "RunningChain"]
