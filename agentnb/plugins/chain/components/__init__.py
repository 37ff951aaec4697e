"""Components, which can stand between client and agent in a chain."""
