"""Say in one line that this Python is too old; everything else may use what agentnb itself needs."""

import sys

OLDEST = (3, 10)

if sys.version_info < OLDEST:
    wanted = ".".join(map(str, OLDEST))
    here = sys.version.split()[0]
    sys.exit(f"agentnb needs Python {wanted} or newer; {sys.executable} is {here}. Try: make PYTHON=python{wanted} ...")
