"""Components: what may stand between client and agent in a chain."""
