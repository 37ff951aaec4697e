"""Becomes the command in its arguments, without the right to make namespaces, as in many containers; or exits with 77.

In a new user namespace it sets the limits of namespaces to none and gives up every capability.
"""

import os
import sys
from pathlib import Path

from agentnb.plugins.sandbox.namespaces import NEW_USER
from agentnb.system_calls import drop_capabilities, unshare

user, group = os.geteuid(), os.getegid()
try:
    unshare(NEW_USER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path("/proc/self", name).write_text(text, encoding="ascii")
    for kind in ("user", "mnt", "net", "pid", "ipc", "uts"):
        Path(f"/proc/sys/user/max_{kind}_namespaces").write_text("0", encoding="ascii")
    drop_capabilities()
except OSError as error:
    print(error, file=sys.stderr)
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - starting programs is the job
