"""Research runs: questions about packages, each answered in its own conversation."""
