"""Chains of components between client and agent (ACP proxies)."""
