"""Code that makes a process impossible to rehearse, run at its start."""

from __future__ import annotations

NO_PROCESSES = """
import os
from agentnb.plugins.sandbox import seccomp
os.close(seccomp.refuse(sockets_but=None, forks=True))
"""
"""Creating a process on this thread fails with ENOSYS, as nothing answers the filter's notifications."""

GRAPHICS_CARD = """
import os
from agentnb.plugins.sandbox.namespaces import BIND, NEW_MOUNTS, NEW_USER, PRIVATE, RECURSIVE
from agentnb.system_calls import mount, unshare
user, group = os.geteuid(), os.getegid()
unshare(NEW_USER | NEW_MOUNTS)
for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
    open(f"/proc/self/{name}", "w").write(text)
mount("none", "/", None, RECURSIVE | PRIVATE)
kept = {name: os.open(f"/dev/{name}", os.O_PATH) for name in ("null", "shm")}
mount("none", "/dev", "tmpfs", 0)
os.mkdir("/dev/shm")
open("/dev/null", "w").close()
for name, opened in kept.items():
    mount(f"/proc/self/fd/{opened}", f"/dev/{name}", None, BIND)
card = open("/dev/nvidia0", "w")
"""
"""Opens a file at the path of a graphics card's device."""
