"""Programs that act on the machine: other users' rights, processes, services, packages, the network, containers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.policy.severity import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.policy.commands.options import Options

Rater = "Callable[[Options], Finding | None]"

_REMOVE = frozenset({"remove", "purge", "autoremove", "uninstall", "erase", "del", "delete", "rm", "prune", "unlink"})
_PUBLISH = frozenset({"publish", "login", "adduser", "token", "owner", "yank", "unpublish", "upload"})
_INSTALL = frozenset(
    {"install", "add", "i", "ci", "update", "upgrade", "sync", "get", "exec", "dlx", "x", "create", "init", "tool"}
)
ADMIN = "The command asks for administrator rights."
SUPERUSER = frozenset({"sudo", "doas", "su", "pkexec", "gsudo", "runas", "run0", "sudoedit", "runuser"})


def _kill(options: Options) -> Finding:
    """Ending processes: one or all of them, with or without force."""
    words = [word.lower() for word in options.words]
    everything = "-1" in words[1:] or "0" in words
    force = any(word in {"-9", "-kill", "-sigkill", "--signal=kill", "/f", "-force", "-f"} for word in words) or (
        "9" in words or "kill" in words
    )
    if everything:
        return Finding("high", "Ends every process it can.")
    return Finding("medium", "Ends a process by force." if force else "Ends a process.")


def _kill_by_name(options: Options) -> Finding:
    force = any(
        re.fullmatch(r"-(9|KILL|SIGKILL|f|force)|/f|--signal=.*|--force", word, re.IGNORECASE) for word in options.words
    )
    return Finding("high" if force else "medium", "Ends processes by force." if force else "Ends processes.")


def _service(options: Options) -> Finding:
    if options.any("poweroff", "reboot", "halt", "kexec", "rescue", "emergency", "isolate"):
        return Finding("high", "Stops the machine, or most of what runs on it.")
    if options.any("status", "list-units", "list-unit-files", "show", "is-active", "is-enabled", "query", "list"):
        return Finding("low", "Looks at services.")
    return Finding("medium", "Starts, stops or changes services.")


def _firewall(options: Options) -> Finding:
    shows = {"status", "show", "-l", "-s", "--list", "--list-all", "--state", "list", "-ln", "-nl", "-nvl", "-vnl"}
    only = bool(options.words) and options.words[0].lower() in shows
    return Finding("low", "Looks at the firewall.") if only else Finding("medium", "Changes the firewall.")


def _packages(options: Options) -> Finding:
    """Package managers: what they publish, remove or install."""
    words = {word.lower() for word in options.operands[:2]}
    if words & _PUBLISH:
        return Finding("high", "Publishes, or uses your account at a package registry.")
    if words & _REMOVE or "R" in options.short:
        return Finding("medium", "Removes packages.")
    if words & _INSTALL or "S" in options.short:
        return Finding("medium", "Installs packages, which may run code of theirs.")
    return Finding("low", "Uses a package manager.")


def _fetch(options: Options) -> Finding:
    sends = options.has(
        *(
            "--data",
            "--data-binary",
            "--data-raw",
            "--data-urlencode",
            "--data-ascii",
            "--json",
            "--form",
            "--form-string",
        ),
        *("--upload-file", "--post-file", "--post-data", "--body-file", "--body-data", "--use-askpass"),
    )
    if sends or options.short & set("dFT") or options.any("post", "put", "delete", "patch"):
        return Finding("high", "Sends data over the network.")
    return Finding("medium", "Loads something from the network.")


def _netcat(options: Options) -> Finding:
    if options.short & set("ec") or any("exec" in word.lower() or "system" in word.lower() for word in options.words):
        return Finding("critical", "Hands a program of this machine to the network.")
    return Finding("high", "Opens a connection to another machine.")


def _container(options: Options) -> Finding:
    """Containers: some options give them the whole machine."""
    joined = " ".join(options.words)
    if re.search(r"--(?:pid|net|network|ipc|uts|userns|cgroupns)[= ]host|--cap-add|--device|--security-opt", joined):
        return Finding("high", "Gives a container the whole machine.")
    if "--privileged" in joined or "docker.sock" in joined or re.search(r"(-v|--volume|source)[ =]?/:?", joined):
        return Finding("high", "Gives a container the whole machine.")
    if options.any("rm", "rmi", "prune", "kill", "down", "stop", "delete", "destroy"):
        return Finding("medium", "Removes or stops containers.")
    return Finding("low" if options.verb() in {"ps", "images", "logs", "inspect"} else "medium", "Uses containers.")


def _cloud(options: Options) -> Finding:
    if any(re.match(r"(delete|destroy|remove|rm|rb|terminate|drain|apply|purge)", word) for word in options.operands):
        return Finding("high", "Changes or deletes something in the cloud.")
    if any(re.fullmatch(r"(?:-X|--method=)?(?:DELETE|PUT|POST|PATCH)", word) for word in options.words):
        return Finding("high", "Changes or deletes something in the cloud.")
    return Finding("medium", "Talks to the cloud with your account.")


def _crontab(options: Options) -> Finding:
    return Finding("low", "Lists timed jobs.") if "l" in options.short else Finding("high", "Changes timed jobs.")


def _registry(options: Options) -> Finding:
    return (
        Finding("low", "Reads the registry.") if options.verb() == "query" else Finding("high", "Changes the registry.")
    )


def _execution_policy(options: Options) -> Finding:
    loose = options.any("bypass", "unrestricted")
    return Finding("high" if loose else "medium", "Changes which scripts may run.")


def _start_process(options: Options) -> Finding:
    return Finding("high", ADMIN) if options.any("runas") else Finding("low", "Starts a program.")


def _init(options: Options) -> Finding | None:
    return Finding("high", "Stops or restarts the machine.") if options.operands else None


def _always(severity: Severity, reason: str, programs: Iterable[str]) -> dict[str, Callable[[Options], Finding]]:
    return dict.fromkeys(programs, lambda _: Finding(severity, reason))


RATERS: dict[str, Callable[[Options], Finding | None]] = {
    **_always("high", ADMIN, SUPERUSER),
    "kill": _kill,
    **dict.fromkeys(
        ("killall", "pkill", "skill", "killall5", "xkill", "taskkill", "stop-process", "spps"), _kill_by_name
    ),
    **dict.fromkeys(
        ("systemctl", "service", "launchctl", "sc", "rc-service", "stop-service", "initctl", "net", "loginctl"),
        _service,
    ),
    **dict.fromkeys(
        ("iptables", "ip6tables", "nft", "ufw", "netsh", "firewall-cmd", "pfctl", "ebtables", "arptables"), _firewall
    ),
    **dict.fromkeys(
        (
            *(
                "apt",
                "apt-get",
                "aptitude",
                "dpkg",
                "yum",
                "dnf",
                "zypper",
                "rpm",
                "pacman",
                "yay",
                "apk",
                "brew",
                "port",
            ),
            *("snap", "flatpak", "choco", "winget", "scoop", "nix", "nix-env", "emerge", "pip", "pip3", "pipx", "uv"),
            *("poetry", "pdm", "hatch", "conda", "mamba", "micromamba", "npm", "pnpm", "yarn", "bun", "deno", "cargo"),
            *(
                "gem",
                "bundle",
                "composer",
                "go",
                "dotnet",
                "nuget",
                "cpan",
                "luarocks",
                "opam",
                "stack",
                "cabal",
                "mix",
            ),
            "twine",
        ),
        _packages,
    ),
    **dict.fromkeys(
        ("curl", "wget", "fetch", "http", "https", "aria2c", "lynx", "iwr", "irm", "invoke-webrequest", "axel", "w3m"),
        _fetch,
    ),
    **dict.fromkeys(("nc", "ncat", "netcat", "socat", "telnet"), _netcat),
    **_always("high", "Copies files to or from another machine.", ("scp", "sftp", "ftp", "lftp", "rclone", "croc")),
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose", "buildah", "lxc", "ctr", "vagrant"), _container),
    **dict.fromkeys(("kubectl", "helm", "terraform", "tofu", "aws", "gcloud", "az", "pulumi", "heroku", "gh"), _cloud),
    **_always("high", "Stops or restarts the machine.", ("shutdown", "reboot", "halt", "poweroff", "stop-computer")),
    **dict.fromkeys(("init", "telinit"), _init),
    "crontab": _crontab,
    **_always("high", "Runs something later, when nobody looks.", ("at", "batch", "schtasks")),
    **_always(
        "high",
        "Changes users, the kernel or what is mounted.",
        (
            *("insmod", "modprobe", "rmmod", "sysctl", "mount", "umount", "swapoff", "setenforce", "visudo", "useradd"),
            *(
                "userdel",
                "usermod",
                "adduser",
                "deluser",
                "groupadd",
                "groupmod",
                "passwd",
                "chpasswd",
                "chsh",
                "chroot",
            ),
            *("update-alternatives", "nvram", "csrutil", "spctl", "defaults", "scutil", "ip", "ifconfig", "route"),
        ),
    ),
    **_always("medium", "Hides what was typed.", ("history",)),
    **_always("medium", "Prints the environment, in which keys may stand.", ("printenv",)),
    **dict.fromkeys(("reg",), _registry),
    **_always("high", "Changes the registry.", ("regedit", "regsvr32", "remove-itemproperty", "set-itemproperty")),
    "set-executionpolicy": _execution_policy,
    **dict.fromkeys(("start-process", "saps"), _start_process),
    **_always("high", "Runs text as a program.", ("iex", "invoke-expression", "invoke-command", "mshta", "wscript")),
    **_always(
        "high", "Looks into other programs, or changes them.", ("gdb", "lldb", "strace", "ltrace", "ptrace", "dtrace")
    ),
}
