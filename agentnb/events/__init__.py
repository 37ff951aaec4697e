"""Events: what happens, told by name, for tests to assert on and for maintainers to read."""
