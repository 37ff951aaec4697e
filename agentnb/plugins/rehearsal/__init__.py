"""Rehearsals: run code or a command in an isolated copy, and report what it would have done."""
