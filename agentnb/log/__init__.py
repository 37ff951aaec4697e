"""The action log: what every channel accepted, in order; bounded in memory, durable in a file."""
