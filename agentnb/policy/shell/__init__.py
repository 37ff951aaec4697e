"""A reader of shell scripts: what would be run, and with which words."""
