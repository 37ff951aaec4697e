"""Compares the tables that a step changed with how they were before it."""
