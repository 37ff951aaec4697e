"""Prints a reason to stderr and exits before it answers anything."""

import os
import sys

key = os.environ.get("SCRIPTED_API_KEY", "")
sys.stderr.write(f"\x1b[31mfatal:\x1b[0m no configuration found, key {key}\n")
sys.exit(3)
