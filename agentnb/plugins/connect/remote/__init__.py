"""Another host, seen from this kernel: its conversations in a chat here, over the Agent Host Protocol."""
