"""Rehearsals: code or a command runs in a closed-in copy, and what it would have done is told."""
