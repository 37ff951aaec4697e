"""Decides what an agent may do: policy requests, rules, and the boundary of the workspace."""
