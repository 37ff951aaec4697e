"""Sessions beyond this kernel: written to the log while they run, read back from it later."""
