"""Researches: questions about packages, each answered by a conversation of its own."""
