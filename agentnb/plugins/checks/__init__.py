"""Compares the tables that a step changed with their state before it."""
