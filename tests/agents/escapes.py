"""Tries to escape from its sandbox; prints a line ``ESCAPED …`` for each way that works, and ``done`` at the end.

Arguments: a file outside, a secret file, a TCP port of a server on this machine, the path of a Unix socket, the name
of an abstract one, and a process id; optionally the path of a socket for datagrams, the path of another terminal and
the key of shared memory.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys

outside, secret, port, path, name, pid, *more = sys.argv[1:]
datagrams, terminal, key = more or (path, "/dev/pts/0", "0")
port, pid = int(port), int(pid)
folder = os.path.dirname(outside)
libc = ctypes.CDLL(None, use_errno=True)


def tries(what):
    def run(attempt):
        try:
            is_escape = attempt()
        except BaseException as error:
            print("refused", what, error)
        else:
            print("ESCAPED" if is_escape else "refused", what)

    return run


def real(target=outside):
    """Only checks if writing is refused; the test checks if the file outside really changed."""
    with open(target, "a") as file:
        file.write("x")
    return False


def secret_of(target):
    with open(target) as file:
        return "hunter2" in file.read()


def sent_by_pair(kind):
    """Makes a pair of sockets where single ones are refused; one of them could send to an address."""
    for one in socket.socketpair(socket.AF_UNIX, kind):
        one.sendto(b"x", datagrams)
    return True


def listed_shared_memory():
    """Needs no key: the ids of all shared memory of this machine are small numbers."""
    addresses = [libc.shmat(number, None, 0o10000) for number in range(64)]
    return any(each not in (-1, 0xFFFFFFFFFFFFFFFF) for each in addresses)


IOPRIO_SET = 251 if os.uname().machine == "x86_64" else 30


def connects(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as one:
        one.settimeout(1)
        one.connect(address)
        return True


def sends(address):
    """In a separate network it is refused because nobody listens at the port there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.settimeout(1)
        one.connect(address)
        one.send(b"x")
        try:
            one.recv(1)
        except TimeoutError:
            return True


def checked(number):
    if number:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return True


def linked():
    os.link(outside, "linked")
    with open("linked", "a") as file:
        file.write("x")
    return False


def pointed():
    os.symlink(outside, "pointed")
    with open("pointed", "a") as file:
        file.write("x")
    return False


def renamed():
    with open("moved", "w") as file:
        file.write("moved")
    os.rename("moved", outside)
    return False


def unnamed():
    opened = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
    os.write(opened, b"x")
    os.link(f"/proc/self/fd/{opened}", os.path.join(folder, "unnamed"))
    return False


def in_new_namespace():
    checked(libc.unshare(0x10000000 | 0x20000))
    for target in (b"/", os.fsencode(folder), b"/tmp", b"/proc", b"/dev/shm"):
        libc.umount2(target, 2)
        libc.mount(b"none", target, None, 0x20 | 0x1000, None)
    return secret_of(secret)


def traced():
    return checked(libc.ptrace(16, pid, 0, 0))


def read_memory(target):
    with open(f"/proc/{pid}/{target}", "rb") as file:
        return bool(file.read(1))


def linked_proc(target):
    return bool(os.readlink(f"/proc/{pid}/{target}"))


def setuid():
    return subprocess.run(["su", "-c", "id"], capture_output=True, timeout=5, check=False).returncode == 0 and (
        os.geteuid() != 0
    )


def is_own_pair(number):
    """True for a pair of sockets that this process made, as event loops do."""
    try:
        with socket.socket(fileno=os.dup(number)) as one:
            made_by = one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            return one.family == socket.AF_UNIX and int.from_bytes(made_by[:4], sys.byteorder) == os.getpid()
    except OSError:
        return False


def inherited():
    descriptors = [each for each in os.listdir("/proc/self/fd") if int(each) > 2]
    own = [os.readlink(f"/proc/self/fd/{each}") for each in descriptors if is_own_pair(int(each))]
    targets = [os.readlink(f"/proc/self/fd/{each}") for each in descriptors if os.path.lexists(f"/proc/self/fd/{each}")]
    return any(each.startswith(("socket:", "pipe:")) for each in targets if each not in own)


def device():
    return any(
        not each.startswith(("std", "fd", "null", "zero", "full", "random", "urandom"))
        for each in os.listdir("/dev")
        if not os.path.isdir(f"/dev/{each}") and os.open(f"/dev/{each}", os.O_RDONLY | os.O_NONBLOCK)
    )


def joined():
    """Enters the namespaces of another process."""
    opened = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    return checked(libc.setns(opened, 0)) and secret_of(secret)


def handed():
    """Takes a descriptor of another process, by its handle."""
    handle = os.pidfd_open(pid)
    return libc.syscall(438, handle, 0, 0) >= 0


def signalled():
    handle = os.pidfd_open(pid)
    signal.pidfd_send_signal(handle, 0)
    return True


def read_vm():
    return checked(libc.process_vm_readv(pid, None, 0, None, 0, 0))


def sent_while_connecting():
    with socket.socket() as one:
        one.sendto(b"x", 0x20000000, ("127.0.0.1", port))
    return True


def by_multipath():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as one:
        one.settimeout(1)
        one.connect(("127.0.0.1", port))
    return True


def by_ring():
    return libc.syscall(425, 8, ctypes.create_string_buffer(120)) >= 0


def exchanged():
    with open("exchanged", "w") as file:
        file.write("x")
    checked(libc.syscall(316, -100, b"exchanged", -100, os.fsencode(outside), 2))
    return False


def core_pattern():
    with open("/proc/sys/kernel/core_pattern", "w") as file:
        file.write("core")
    return True


tries("write outside")(real)
tries("delete outside")(lambda: os.remove(outside))
tries("truncate outside")(lambda: os.truncate(outside, 0))
tries("truncate by reading")(lambda: os.close(os.open(outside, os.O_RDONLY | os.O_TRUNC)))
tries("write by link")(pointed)
tries("write by hard link")(linked)
tries("rename across")(renamed)
tries("unnamed file")(unnamed)
tries("read secret")(lambda: secret_of(secret))
tries("read secret by ..")(lambda: secret_of(os.path.join(os.path.dirname(secret), "..", ".ssh", "id_test")))
tries("read secret by root")(lambda: secret_of(f"/proc/self/root{secret}"))
tries("read secret by outer root")(lambda: secret_of(f"/proc/{pid}/root{secret}"))
tries("read secret by parent's root")(lambda: secret_of(f"/proc/{os.getppid()}/root{secret}"))
tries("connect to loopback")(lambda: connects(socket.AF_INET, ("127.0.0.1", port)))
tries("connect to loopback 6")(lambda: connects(socket.AF_INET6, ("::ffff:127.0.0.1", port)))
tries("send a datagram")(lambda: sends(("127.0.0.1", port)))
tries("connect to path")(lambda: connects(socket.AF_UNIX, path))
tries("connect to abstract")(lambda: connects(socket.AF_UNIX, f"\0{name}"))
tries("send to path by a pair")(lambda: sent_by_pair(socket.SOCK_DGRAM))
tries("send to path by a raw pair")(lambda: sent_by_pair(socket.SOCK_RAW))
tries("shared memory")(lambda: libc.shmget(int(key), 0, 0) >= 0)
tries("list shared memory")(listed_shared_memory)
tries("priority")(lambda: os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid)) is None)
tries("processors")(lambda: os.sched_setaffinity(pid, os.sched_getaffinity(0)) is None)
tries("scheduling")(lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)) is None)
tries("disk priority")(lambda: libc.syscall(IOPRIO_SET, 1, pid, (2 << 13) | 4) == 0)
if more:  # only for confined agents: in a rehearsal some of these have no effect
    tries("permissions outside")(lambda: os.chmod(secret, 0o604) is None)
    tries("times outside")(lambda: os.utime(outside, (1, 1)) is None)
    tries("attributes outside")(lambda: os.setxattr(outside, "user.x", b"1") is None)
    tries("other terminal")(lambda: os.close(os.open(terminal, os.O_RDWR | os.O_NOCTTY)) is None)
    tries("keys of another terminal")(lambda: os.close(os.open(terminal, os.O_RDONLY | os.O_NOCTTY)) is None)
    tries("passwords")(lambda: os.close(os.open("/etc/shadow", os.O_RDONLY)) is None)
    tries("old passwords")(lambda: os.close(os.open("/etc/shadow-", os.O_RDONLY)) is None)
tries("signal")(lambda: os.kill(pid, 0) is None and os.path.exists(f"/proc/{pid}") and True)
tries("signal for real")(lambda: os.kill(pid, signal.SIGCONT) is None)
tries("ptrace")(traced)
tries("memory")(lambda: read_memory("mem"))
tries("environment")(lambda: read_memory("environ"))
tries("descriptors")(lambda: linked_proc("fd/0"))
tries("setuid")(setuid)
tries("inherited")(inherited)
tries("devices")(device)
tries("join namespaces")(joined)
tries("descriptor by handle")(handed)
tries("signal by handle")(signalled)
tries("read memory by call")(read_vm)
tries("send while connecting")(sent_while_connecting)
tries("multipath")(by_multipath)
tries("ring")(by_ring)
tries("exchange")(exchanged)
tries("core pattern")(core_pattern)
tries("mounts")(lambda: checked(libc.mount(b"none", os.fsencode(folder), b"tmpfs", 0, None)))
tries("new namespace")(in_new_namespace)
print("done")
