"""The Python interface: sessions and turns as plain objects, usable from any thread."""
