"""The conductor: components in a chain between client and agent (ACP proxies), in this process or for any client."""
