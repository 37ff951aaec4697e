"""Code on the command line (``python -c``, ``perl -e``, ``awk '…'``): what in it matters."""

from __future__ import annotations

import re

from agentnb.policy.severity import Risk, together

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
    """Returns how bad *code* in whatever language can be.

    Only its words are looked at, so the result is never better than ``medium``. Not checked: what the code does with
    names that it computes.
    """
    found = [finding for pattern, finding in _SIGNS if re.search(pattern, code)]
    plain = [finding for finding in found if finding.severity != "medium"]  # else a weaker word for the same
    return together(plain or found) or Risk("medium", harmless)
