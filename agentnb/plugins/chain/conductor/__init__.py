"""The conductor: components in a chain between client and agent (ACP proxies), in this process or for any client.

`python -m agentnb.conductor agent "proxy" … "agent"` runs a chain on stdin and stdout.
"""
