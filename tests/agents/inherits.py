"""Holds files, memory, locks, pipes and queues of all kinds, and rehearses code that reaches for them.

Prints a line for each rehearsal: ``unharmed`` or ``CHANGED``, the attempt, the confinement, the difference.
It changes the folder that it runs in.
"""

import ctypes
import fcntl
import mmap
import multiprocessing
import os
import resource
import sqlite3
import subprocess
import sys
from multiprocessing import shared_memory

import agentnb

READ, PAGE, RETURNED = mmap.PROT_READ, 4096, 0o4000
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.shmat.restype = ctypes.c_void_p
me = os.getpid()

file = open("mapped", "wb+")
file.write(b"a" * 2 * PAGE)
file.flush()
readable = mmap.mmap(file.fileno(), PAGE, prot=READ)
executable = mmap.mmap(file.fileno(), PAGE, prot=READ | mmap.PROT_WRITE | mmap.PROT_EXEC, offset=PAGE)
shared = libc.mmap(None, PAGE, 3, 0x21, -1, 0)
ctypes.memmove(shared, b"aa", 2)
libc.mprotect(ctypes.c_void_p(shared), PAGE, READ)
memory = os.memfd_create("mine")
os.write(memory, b"a" * PAGE)
reading = os.open(f"/proc/self/fd/{memory}", os.O_RDONLY)
deleted = open("deleted", "wb+")
deleted.truncate(100 << 20)
os.unlink("deleted")
named = shared_memory.SharedMemory(create=True, size=PAGE)
named.buf[:2] = b"aa"
semaphore = multiprocessing.Semaphore(1)
segment = libc.shmget(0, PAGE, 0o1600)
attached = libc.shmat(segment, None, 0)
ctypes.memmove(attached, b"aa", 2)
semaphores = libc.semget(0, 1, 0o1600)
libc.semctl(semaphores, 0, 16, 3)
messages = libc.msgget(0, 0o1600)
child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
plain = open("plain", "w")
locked = open("locked", "w")
fcntl.flock(locked, fcntl.LOCK_EX)
database = sqlite3.connect("wal.sqlite")
database.execute("pragma journal_mode=wal")
database.execute("create table t (x)")
database.commit()

TRIES = {
    "make memory of a file writable": """
for line in open('/proc/self/maps'):
    start = int(line.split('-')[0], 16)
    if line.rstrip().endswith('/mapped') and not libc.mprotect(ctypes.c_void_p(start), PAGE, 3):
        ctypes.memmove(start, b'zz', 2)
""",
    "make shared memory writable": "libc.mprotect(ctypes.c_void_p(shared), PAGE, 3); ctypes.memmove(shared, b'zz', 2)",
    "write memory that can be run": "executable[:2] = b'zz'; executable.flush()",
    "open memory once more": "open(f'/proc/self/fd/{memory}', 'r+b').write(b'zz')",
    "open memory for writing": "open(f'/proc/self/fd/{reading}', 'r+b').write(b'zz')",
    "open a deleted file once more": "open(f'/proc/self/fd/{deleted.fileno()}', 'r+b').write(b'zz')",
    "attach shared memory by name": "shared_memory.SharedMemory(named.name).buf[:2] = b'zz'",
    "write and unlink shared memory": "named.buf[:2] = b'zz'; named.unlink()",
    "take a semaphore": "semaphore.acquire(False)",
    "attach a segment": "there = libc.shmat(segment, None, 0)\nif there + 1 < 2**64: ctypes.memmove(there, b'zz', 2)",
    "write and remove a segment": "ctypes.memmove(attached, b'zz', 2); libc.shmctl(segment, 0, None)",
    "set semaphores": "libc.semctl(semaphores, 0, 16, 9)",
    "send a message": "libc.msgsnd(messages, (1).to_bytes(8, 'little') + b'hello', 5, 0)",
    "end a child": "child.stdin.write(b'x'); child.stdin.close(); child.kill()",
    "unlock a file": "fcntl.flock(locked, fcntl.LOCK_UN)",
    "write a database with a log": """
database.execute('insert into t values (2)'); database.commit()
database.execute('pragma wal_checkpoint(truncate)'); database.close()
""",
    "limit the parent": "resource.prlimit(os.getppid() or me, resource.RLIMIT_NOFILE, (300, 300))",
    "limit by id": "resource.prlimit(me, resource.RLIMIT_CPU, (1, 1))",
    "priority": "os.setpriority(os.PRIO_PROCESS, me, 5)",
    "priority of all": "os.setpriority(os.PRIO_USER, os.getuid(), 6)",
    "processors": "os.sched_setaffinity(me, {min(os.sched_getaffinity(0))})",
    "scheduler": "os.sched_setscheduler(me, os.SCHED_BATCH, os.sched_param(0))",
    "priority of input and output": "libc.syscall(251 if os.uname().machine == 'x86_64' else 30, 1, me, 3 << 13)",
    "be ended first": "open(f'/proc/{me}/oom_score_adj', 'w').write('900')",
    "permissions": "os.chmod('plain', 0o777); os.fchmod(plain.fileno(), 0o777)",
    "times": "os.utime('plain', (1, 1))",
    "attributes": "os.setxattr('plain', 'user.x', b'zz')",
    "a signal of a socket": """
import socket
one, other = socket.socketpair()
fcntl.fcntl(one, 10, 9); fcntl.fcntl(one, fcntl.F_SETOWN, me)
fcntl.fcntl(one, fcntl.F_SETFL, fcntl.fcntl(one, fcntl.F_GETFL) | 0x2000); other.send(b'x')
""",
    "be traced": "libc.ptrace(0, 0, 0, 0)",
    "run memory": """
made = os.memfd_create('made', 0); os.write(made, open('/bin/true', 'rb').read())
assert subprocess.run([f'/proc/self/fd/{made}'], pass_fds=[made]).returncode == 0
""",
    "memory of the parent": "open(f'/proc/{os.getppid() or me}/mem', 'r+b').write(b'zz')",
    "outlive the kernel": "libc.prctl(1, 0, 0, 0, 0); subprocess.Popen(['sleep', '1000'], start_new_session=True)",
    "raise limits": "resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)",
    "stop": "os.kill(os.getpid(), 19)",
}


def facts():
    with open("locked") as again:
        try:
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_locked = False
        except BlockingIOError:
            is_locked = True
    status = os.stat("plain")
    return {
        "mapped": (readable[:2], executable[:2]),
        "shared": (ctypes.string_at(shared, 2), bytes(named.buf[:2]), ctypes.string_at(attached, 2)),
        "unnamed": (os.pread(memory, 2, 0), os.pread(deleted.fileno(), 2, 0)),
        "semaphores": (semaphore.get_value(), libc.semctl(semaphores, 0, 12)),
        "messages": libc.msgrcv(messages, ctypes.create_string_buffer(64), 56, 0, RETURNED),
        "child": child.poll(),
        "locked": is_locked,
        "rows": database.execute("select count(*) from t").fetchone(),
        "limits": [resource.getrlimit(each) for each in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU)],
        "priority": (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0), os.sched_getscheduler(0)),
        "input and output": libc.syscall(252 if os.uname().machine == "x86_64" else 31, 1, 0),
        "ended first": open("/proc/self/oom_score_adj").read(),
        "files": (sorted(os.listdir()), status.st_mode, status.st_mtime, os.listxattr("plain")),
        "in memory": os.path.exists(f"/dev/shm/{named.name}"),
    }


try:
    before = facts()
    for what, code in TRIES.items():
        rehearsal = agentnb.rehearse(code, seconds=1 if what == "stop" else 60)
        after = facts()
        different = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
        print(
            "CHANGED" if different else "unharmed", what, rehearsal.way or rehearsal.reason, different or "", sep=": "
        )
        before = after
    huge = os.memfd_create("huge")
    os.ftruncate(huge, 100 << 20)
    rehearsal = agentnb.rehearse("1")
    print("huge", rehearsal.available, rehearsal.reason, sep=": ")
    os.close(huge)
    print("first", agentnb.rehearse("print(open('/proc/self/oom_score_adj').read())").stdout.strip(), sep=": ")
finally:
    child.kill()
    child.communicate()
    named.close()
    named.unlink()
    libc.shmctl(segment, 0, None)
    libc.semctl(semaphores, 0, 0, 0)
    libc.msgctl(messages, 0, None)
sys.stdout.flush()
