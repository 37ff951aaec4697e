"""Names and shapes of commands: which program is meant, which one it runs, and which code is on its command line."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from agentnb.policy.commands.table import Wrapper, wrappers
from agentnb.policy.severity import Risk, together
from agentnb.policy.shell.tree import Compound, Field, Pipeline, ShellScript, Simple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.policy.shell.tree import Function, Redirect

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh", "busybox-sh"})


class Inner(NamedTuple):
    words: tuple[Field, ...] = ()
    script: str = ""
    dynamic: bool = False


_RUNNERS = Wrapper(
    taking=frozenset({"-n", "-p", "--name", "--prefix", "--with", "--python", "--project", "--directory", "--group"})
)
_WINDOWS = {
    "cmd": frozenset({"/c", "/k", "/r"}),
    **dict.fromkeys(("powershell", "pwsh"), frozenset({"-c", "-command", "/c", "/command"})),
}
_BEHIND = {
    "run": ("uv", "poetry", "pipenv", "conda", "mamba", "pdm", "hatch", "rye", "nix", "pixi", "pipx"),
    "exec": ("bundle", "npm", "pnpm", "yarn"),
    "dlx": ("pnpm", "yarn"),
}
_FIND = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FED = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/proc/$$/fd/0"})
_ENDS = frozenset({";", "+", "\\;"})


def inner_commands(program: str, words: Sequence[Field]) -> list[Inner]:
    """Returns the commands that *program* runs, as far as its arguments *words* show."""
    if program in SHELLS:
        return _shell(words)
    if program in {"eval", "trap", "alias"}:
        return _text(program, words)
    if program in _WINDOWS:
        return _windows(_WINDOWS[program], words)
    if program in {"find", "fd"}:
        return _run_by_find(words)
    verb = next((word.text for word in words if not word.text.startswith("-")), "")
    if program in _BEHIND.get(verb, ()):
        at = next(at for at, word in enumerate(words) if word.text == verb)
        return _wrapped(_RUNNERS, words[at + 1 :])
    if program in {"docker", "podman", "nerdctl", "kubectl"}:
        runs = [at for at, word in enumerate(words) if word.text in {"run", "exec"}]
        return _wrapped(wrappers()["docker"], words[runs[0] + 1 :]) if runs else []
    shape = wrappers().get(program)
    if shape is None:
        return []
    if program in {"xargs", "parallel"}:
        marks = ("{}", *(after.text for word, after in pairwise(words) if word.text == "-I"))
        marks += tuple(word.text[2:] for word in words if word.text.startswith("-I") and len(word.text) > len("-I"))
        words = [Field(word.text, word.dynamic or any(mark in word.text for mark in marks)) for word in words]
    return _wrapped(shape, words)


def reads_script(program: str, words: Sequence[Field]) -> bool:
    """True if *program* is an interpreter that reads its script from stdin."""
    if program in {"source", "."}:
        return bool(words) and words[0].text in _FED
    operands = [word for word in words if not word.text.startswith("-") or word.text == "-"]
    options = {word.text for word in words if word.text.startswith("-")}
    if program in SHELLS:
        return (
            "-s" in options
            or (not any("c" in each for each in options if not each.startswith("--")) and not operands)
            or (bool(operands) and operands[0].text in _FED)
        )
    return not operands or operands[0].text in _FED


def _shell(words: Sequence[Field]) -> list[Inner]:
    for at, word in enumerate(words):
        if word.text.startswith("-") and not word.text.startswith("--") and "c" in word.text and at + 1 < len(words):
            script = next((each for each in words[at + 1 :] if not each.text.startswith("-")), words[at + 1])
            return [Inner(script=script.text, dynamic=script.dynamic)]
        if not word.text.startswith(("-", "+")):
            break
    return []


def _text(program: str, words: Sequence[Field]) -> list[Inner]:
    """The scripts in the arguments of ``eval``, ``trap`` and ``alias``."""
    if program == "eval":
        joined = " ".join(word.text for word in words)
        return [Inner(script=joined, dynamic=any(word.dynamic for word in words))] if words else []
    if program == "trap":
        return [Inner(script=words[0].text, dynamic=words[0].dynamic)] if len(words) > 1 else []
    values = [(word.text.partition("=")[2], word.dynamic) for word in words if "=" in word.text]
    return [Inner(script=text, dynamic=dynamic) for text, dynamic in values]


def _windows(options: frozenset[str], words: Sequence[Field]) -> list[Inner]:
    """Takes everything after ``/c`` or ``-Command`` as one script; PowerShell needs no option for that."""
    at = next((at for at, word in enumerate(words) if word.text.lower() in options), None)
    if at is None:
        at = next((at for at, word in enumerate(words) if not word.text.startswith(("-", "/"))), len(words)) - 1
    rest = words[at + 1 :]
    return (
        [Inner(script=" ".join(word.text for word in rest), dynamic=any(word.dynamic for word in rest))] if rest else []
    )


def _run_by_find(words: Sequence[Field]) -> list[Inner]:
    commands: list[Inner] = []
    for at, word in enumerate(words):
        if word.text in _FIND | {"-x", "-X", "--exec"}:
            rest = words[at + 1 :]
            end = next((n for n, each in enumerate(rest) if each.text in _ENDS), len(rest))
            commands.append(Inner(words=tuple(map(_filled, rest[:end]))))
    return commands


def _filled(word: Field) -> Field:
    """Marks a word with ``{}`` as dynamic: it becomes whatever is found."""
    return Field(word.text, word.dynamic or "{}" in word.text)


def _script_letter(word: str, shape: Wrapper) -> str | None:
    """Returns the letter in the cluster *word* that takes a script: ``c`` in ``-qc`` and ``-qc'rm x'``; else None."""
    if not re.match(r"-[A-Za-z]", word):
        return None
    return next((each[1] for each in shape.scripts if len(each) == len("-c") and each[1] in word), None)


def _wrapped(shape: Wrapper, words: Sequence[Field]) -> list[Inner]:
    """The commands that a wrapper (``sudo``, ``env``, ``xargs``) runs: its arguments after its own options."""
    commands: list[Inner] = []
    at, skip = 0, shape.skip
    while at < len(words):
        text = words[at].text
        name, equals, value = text.partition("=")
        if name in shape.scripts or name.lower() in shape.scripts:
            script = Field(value, words[at].dynamic) if equals else words[at + 1] if at + 1 < len(words) else Field("")
            commands.append(Inner(script=script.text, dynamic=script.dynamic))
            at += 1 if equals else 2
        elif text == "--":
            at += 1
            break
        elif (letter := _script_letter(text, shape)) is not None:
            glued = text.partition(letter)[2]
            script = Field(glued, words[at].dynamic) if glued else words[at + 1] if at + 1 < len(words) else Field("")
            commands.append(Inner(script=script.text, dynamic=script.dynamic))
            at += 1 if glued else 2
        elif text.startswith("-") and text != "-":
            at += 2 if text in shape.taking else 1
        elif shape.assigns and equals and name.replace("_", "").isalnum():
            at += 1
        elif skip:
            skip, at = skip - 1, at + 1
        else:
            break
    rest = tuple(words[at + (skip if at < len(words) else 0) :])
    if rest and shape.joined:
        joined = " ".join(word.text for word in rest if word.text != ":::")
        commands.append(Inner(script=joined, dynamic=any(word.dynamic for word in rest)))
    elif rest:
        commands.append(Inner(words=rest))
    return commands


INLINE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("python", "python2", "python3", "pypy", "pypy3", "ipython", "ipython3"), ("-c",)),
    **dict.fromkeys(
        ("perl", "ruby", "lua", "julia", "rscript", "r", "groovy", "elixir", "scala", "ghc", "osascript"), ("-e", "-E")
    ),
    **dict.fromkeys(("node", "nodejs", "bun", "deno"), ("-e", "-p", "-pe", "--eval", "--print", "eval")),
    **dict.fromkeys(("octave", "emacs", "guile", "expect"), ("--eval", "-c", "-eval")),
    "php": ("-r", "-B", "-R"),
}
"""Interpreters, and their options that take code."""

_SIGNS: tuple[tuple[str, Risk], ...] = (
    (
        r"rmtree|removeDirectoryRecursive|removePathForcibly|delete_recursive|deltree|Directory\.Delete|remove_dir_all|RemoveAll|rm_rf|rimraf|removedirs|rm_r\b|rmSync|tar_(?:destroy|prune|delete)\s*\(|recursive\s*[:=]\s*(?:true|TRUE|T\b)|FileUtils\.rm|remove_tree|unlink\s*\(?\s*glob",
        Risk("critical", "The code deletes folders and everything in them."),
    ),
    (
        (
            r"(?:^|[\n;])[ \t]*!{1,2}[ \t]*[\w./]|\bget_ipython\b|\brun_(?:line|cell)_magic\b"
            r"|(?:^|\n)[ \t]*%{1,2}(?:bash|sh|system|sx|script|run)\b"
        ),
        Risk("high", "The code starts other programs."),
    ),
    (
        r"\bremove\.packages\b|\binstall_(?:github|gitlab|git|url)\b|\bPkg\.(?:rm\b|(?:add|develop)\([^()]{0,200}\burl\b)",
        Risk("high", "The code removes packages from the machine, or installs them from another source."),
    ),
    (
        r"\bagentnb\b[\s\S]*\btrust\b|%agents\s+trust\b|\bPolicyFiles\b",
        Risk("critical", "The code lets agents act in a folder without asking."),
    ),
    (
        (
            r"\b(?:system|popen|popen2|subprocess|spawn|spawnSync|execSync|execFile|execl|execv|execvp|execve|exec|qx"
            r"|fork|forkpty|setsid|start_new_session|runpy|exec_module|load_module|execfile|child_process|pty|shell_exec|passthru|proc_open|os\.exec\w*|ctypes|Process)\b|`"
        ),
        Risk("high", "The code starts other programs."),
    ),
    (
        (
            r"\b(?:eval|compile|__import__|getattr|b64decode|fromhex|unhexlify|decodebytes|marshal|pickle|zlib|codecs"
            r"|atob|Buffer\.from|Function|globals|vars|builtins|__builtins__|chr|pack|unpack)\b|\\x[0-9a-fA-F]{2}"
        ),
        Risk("high", "The code hides what it does."),
    ),
    (
        r"\b(?:socket|urllib|requests|httpx|http|fetch|urlopen|net|LWP|open-uri|TCPSocket|IO::Socket|file_get_contents)\b",
        Risk("high", "The code uses the network."),
    ),
    (
        (
            r"\bos\.(?:remove|unlink|rmdir|truncate)\b|\.(?:unlink|rmdir|truncate)\s*\(|\b(?:unlink|rmdir|truncate)\s*[(\"'$@]"
            r"|\bFile\.(?:delete|unlink|truncate)|(?:unlink|rmdir|truncate)Sync|\bfs\.(?:promises\.)?(?:rm|unlink|rmdir)\b"
            r"|write_(?:text|bytes)\(\s{0,9}(?:b?''|b?\"\")?\s{0,9}\)|(?:writeFile\w*|File\.write)\([^()]{0,200},\s{0,9}(?:''|\"\")\s{0,9}\)"
            r"|\bopen\([^()]{0,200},\s{0,9}[\"']w[bt+]{0,2}[\"']\s{0,9}\)(?:\.close\b|[\s;]{0,9}\Z)"
            r"|\bunlink\s*(?:[;}]|\Z)|\bfile\.remove\b|\bsend2trash\b|\bdelete-file\b|\bDeno\.remove|\brm\s*\(|\bFile\.rm\b|\bDir\.(?:delete|rmdir)"
        ),
        Risk("high", "The code deletes or empties files."),
    ),
    (
        (
            r"(?<!in )\bos\.environb?\b(?!\s*(?:\[|\.(?:get|setdefault|pop|update)\b))|\bprocess\.env\b(?![.\[\w])"
            r"|%ENV\b|\bENV\.(?:to_h|each|inspect|map)|\b(?:p|puts|print|pp) ENV\b(?!\[)|\$_ENV\b(?!\[)|\bphpinfo"
            r"|\bgetenv\s*\(\s*\)|\bSys\.getenv\s*\(\s*\)|\bDeno\.env\.toObject|\bSystem\.getenv\s*\(\s*\)"
        ),
        Risk("high", "The code shows the environment, which may contain keys."),
    ),
    (
        (
            r"\b(?:remove|unlink|rmdir|rename|replace|truncate|write|writeFile\w*|write_text|write_bytes|chmod|chown|open"
            r"|symlink|link|kill|environ|env|ENV|process\.env|File|Path|fs)\b"
        ),
        Risk("medium", "The code accesses files, processes or the environment."),
    ),
)


def rate_code(code: str, harmless: str = "Runs code given on the command line.") -> Risk:
    """Returns how harmful *code* in any language can be.

    It looks only at words of the code, so the result is never better than ``medium``. Not checked: what the code does
    with names that it computes.
    """
    findings = [finding for pattern, finding in _SIGNS if re.search(pattern, code)]
    plain = [finding for finding in findings if finding.severity != "medium"]  # medium only repeats another more weakly
    return together(plain or findings) or Risk("medium", harmless)


_DEEPEST = 12
_WRITES = frozenset({">", ">>", ">|", "<>", "&>", "&>>"})


def program_name(name: str) -> str:
    """Returns the program that *name* refers to, without folder, case or ``.exe``."""
    return name.replace("\\", "/" if "/" not in name else "\\").rpartition("/")[2].lower().removesuffix(".exe")


def innermost(words: Sequence[Field]) -> tuple[str, list[Field]]:
    """Returns the program that finally reads stdin, behind ``sudo``, ``env`` and the like, and its arguments."""
    current = list(words)
    for _ in range(_DEEPEST):
        if not current:
            return "", []
        program = program_name(current[0].text)
        inner = [each.words for each in inner_commands(program, current[1:]) if each.words]
        if program == "find" or not inner:
            return program, current[1:]
        current = list(inner[0])
    return "", []


def gives(word: str, option: str) -> bool:
    """True if *word* is *option*, alone or at the end of a cluster such as ``-Ic``."""
    cluster = (
        word.startswith("-") and not word.startswith("--") and option.startswith("-") and not option.startswith("--")
    )
    return word == option or (cluster and len(option) == len("-c") and word.endswith(option[1]))


def module_of(words: Sequence[str]) -> tuple[int, str]:
    """Returns where the arguments after Python's module begin in *words*, and the module; '' if there is none."""
    at = 0
    while at < len(words):
        word = words[at]
        cluster = word.startswith("-") and not word.startswith("--")
        if cluster and "m" in word and not set(word[1 : word.index("m")]) & set("cWX"):
            glued = word.partition("m")[2]
            return (at + 1, glued) if glued else (at + 2, words[at + 1] if at + 1 < len(words) else "")
        if not word.startswith("-") or word == "-" or (cluster and "c" in word):
            break
        at += 2 if word in {"-W", "-X", "--check-hash-based-pycs"} else 1
    return at, ""


def interprets(program: str) -> bool:
    return (
        program in SHELLS or program in {"source", "."} or program in INLINE or program.rstrip("0123456789.") in INLINE
    )


def writes(redirect: Redirect) -> bool:
    return redirect.operator in _WRITES or (
        redirect.operator == ">&" and not (redirect.target.plain or "x").strip("-").isdigit()
    )


def calls_itself(function: Function) -> bool:
    """True if a function starts itself in a pipeline or in the background."""

    def calls(script: ShellScript, *, forks: bool) -> bool:
        for at, command in enumerate(script.commands):
            inside = forks or at in script.background
            match command:
                case Simple() if inside and command.words and command.words[0].fixed == function.name:
                    return True
                case Pipeline() if calls(ShellScript(commands=command.commands), forks=True):
                    return True
                case Compound() if any(calls(body, forks=inside) for body in command.bodies):
                    return True
        return False

    return calls(function.body, forks=False)
