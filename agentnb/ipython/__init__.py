"""agentnb in IPython: the magics, mentions, display, and the waiting.

``%load_ext agentnb`` ends up in `agentnb.ipython.extension`; nothing of it is loaded before that.
"""
