"""A corpus of steps on tables: with planted faults, and ordinary ones; `make data-checks-corpus`."""
