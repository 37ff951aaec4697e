"""Batches: one prompt about many inputs."""
