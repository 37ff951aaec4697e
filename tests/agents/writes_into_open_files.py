"""Holds open files, databases with a transaction, pipes and sockets, and rehearses code that writes into them.

Prints a line for each rehearsal: ``unharmed`` or ``TRACE``, the attempt, the confinement, the summary, and the
difference. It changes the folder that it runs in.
"""

import gzip
import logging
import os
import socket
import sqlite3
import zipfile

import agentnb

here = os.getcwd()
plain, append, buffered = open("plain.txt", "w+"), open("append.txt", "a"), open("buffered.txt", "w")
for each in (plain, append):
    each.write("a\n")
    each.flush()
buffered.write("pending")
binary = open("binary.bin", "w+b", buffering=0)
raw = os.open("raw.txt", os.O_RDWR | os.O_CREAT, 0o600)
os.write(raw, b"aaaa")
outside = open(os.path.join(os.path.dirname(here), "outside.txt"), "w")
logger = logging.getLogger("own")
logger.addHandler(logging.FileHandler("log.txt"))
logger.warning("first")
packed, archive = gzip.open("a.gz", "wt"), zipfile.ZipFile("a.zip", "w")
packed.write("pending")
archive.writestr("a", "b")
db, wal = (sqlite3.connect(name, isolation_level=None) for name in ("db.sqlite", "wal.sqlite"))
wal.execute("pragma journal_mode=wal")
for each in (db, wal):
    for statement in ("create table t (x)", "begin", "insert into t values (1)"):
        each.execute(statement)
server, datagrams, connected = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(3))
server.bind("datagrams")
connected.connect("datagrams")
one, other = socket.socketpair()
left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for each in (server, other, right):
    each.setblocking(False)
reading, writing = os.pipe()
os.set_blocking(reading, False)
folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)

TRIES = {
    "write and flush": "plain.write('zz'); plain.flush()",
    "write and close": "plain.write('zz'); plain.close()",
    "print": "print('zz', file=plain, flush=True)",
    "truncate": "plain.truncate(0)",
    "append": "append.write('zz'); append.flush()",
    "flush what was pending": "buffered.flush()",
    "close what was pending": "buffered.close()",
    "let go": "import gc; del plain, append, buffered; gc.collect()",
    "write without a buffer": "binary.write(b'zz')",
    "write by number": "os.write(raw, b'zz')",
    "write at a place": "os.pwrite(raw, b'zz', 0)",
    "write several": "os.writev(raw, [b'zz'])",
    "send a file": "os.sendfile(raw, os.open('/proc/self/exe', os.O_RDONLY), 0, 5)",
    "allocate": "os.posix_fallocate(raw, 0, 100_000)",
    "map": "import mmap; m = mmap.mmap(raw, 4); m[:2] = b'zz'; m.flush()",
    "from a child": "import subprocess; subprocess.run(['sh', '-c', 'echo zz'], stdout=raw)",
    "by a copy": "os.write(os.dup(raw), b'zz')",
    "open once more": "open(f'/proc/self/fd/{raw}', 'r+b').write(b'zz')",
    "outside the workspace": "outside.write('zz'); outside.flush()",
    "log": "logger.warning('zz')",
    "end the log": "logger.warning('zz'); logging.shutdown()",
    "close compressed": "packed.close()",
    "close an archive": "archive.close()",
    "leave": "raise SystemExit",
    "commit": "db.execute('insert into t values (2)'); db.execute('commit')",
    "roll back": "db.execute('rollback')",
    "close a database": "db.close()",
    "commit with a log": "wal.execute('insert into t values (2)'); wal.execute('commit')",
    "empty a log": "wal.execute('commit'); wal.execute('pragma wal_checkpoint(truncate)')",
    "close a database with a log": "wal.close()",
    "permissions": "os.fchmod(raw, 0o777)",
    "times": "os.utime(raw, (1, 1))",
    "a file by its folder": "os.close(os.open('made', os.O_WRONLY | os.O_CREAT, dir_fd=folder))",
    "remove by the folder": "os.unlink('plain.txt', dir_fd=folder)",
    "send a datagram": "datagrams.sendto(b'zz', 'datagrams')",
    "send a connected datagram": "connected.send(b'zz')",
    "send by a new socket": "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'zz', f'{here}/datagrams')",
    "send by a pair": "left.sendto(b'zz', f'{here}/datagrams'); left.send(b'zz')",
    **{
        f"send by a new pair ({kind})": f"""
pair = socket.socketpair(socket.AF_UNIX, socket.{kind})
pair[0].sendto(b'zz', f'{{here}}/datagrams')
"""
        for kind in ("SOCK_DGRAM", "SOCK_RAW", "SOCK_SEQPACKET", "SOCK_STREAM")
    },
    "send by a stream": "one.send(b'zz')",
    "write into a pipe": "os.write(writing, b'zz')",
    "write into everything": """
for number in range(3, 200):
    try: os.write(number, b'zz')
    except OSError: pass
""",
    "write into the pipes of others": """
import glob
for path in glob.glob('/proc/[0-9]*/fd/*'):
    try: os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), b'{"way": "none"}')
    except OSError: pass
""",
    "become another program": "os.execv('/bin/sh', ['sh', '-c', f'echo zz >&{raw}'])",
}


def received(read):
    try:
        return read(100)
    except BlockingIOError:
        return None


def facts():
    contents = {}
    for name in (*(f"{here}/{each}" for each in os.listdir(here)), outside.name):
        status = os.lstat(name)
        content = open(name, "rb").read() if os.path.isfile(name) else None
        contents[os.path.basename(name)] = (status.st_mode, status.st_size, status.st_mtime_ns, content)
    contents["sockets"] = [received(each.recv) for each in (server, other, right)]
    contents["pipe"] = received(lambda size: os.read(reading, size))
    contents["transactions"] = (db.in_transaction, wal.in_transaction)
    return contents


before = facts()
for what, code in TRIES.items():
    rehearsal = agentnb.rehearse(code, seconds=60)
    after = facts()
    different = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    way = rehearsal.way or rehearsal.reason
    print("TRACE" if different else "unharmed", what, way, rehearsal.summary, different or "", sep=" | ")
    before = after
