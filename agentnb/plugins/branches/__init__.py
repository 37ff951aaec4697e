"""Branches: several tries at one task, each in a copy of the kernel and of the workspace; one of them is kept."""
