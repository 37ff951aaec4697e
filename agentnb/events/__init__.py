"""Events: what happens, told by name, for tests to assert on and for maintainers to read.

They go through :mod:`logging` (:mod:`agentnb.events.kind`). What there is: :mod:`agentnb.events.kinds`.
"""
