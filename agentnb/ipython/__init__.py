"""agentnb in IPython: the magics, mentions, display, and the waiting."""
