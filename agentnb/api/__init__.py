"""What Python code meets: sessions and turns as plain objects, usable from any thread."""
