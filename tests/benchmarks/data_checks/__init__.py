"""A corpus of steps on tables, ordinary and with planted faults; `make data-checks-corpus`."""
