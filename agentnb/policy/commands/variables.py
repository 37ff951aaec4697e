"""Variables that decide what other programs run, load or believe."""

from __future__ import annotations

import re

_DECIDES = re.compile(
    r"PATH|IFS|SHELL|ENV|HOME|CDPATH|ZDOTDIR|INPUTRC|BASH_\w+|PS[0-4]|PROMPT_COMMAND|LD_\w+|DYLD_\w+|GCONV_PATH"
    r"|OPENSSL_\w+|GIT_\w+|\w*(?:PAGER|EDITOR|VISUAL|BROWSER|ASKPASS|_RSH|_OPTIONS|OPTS?|_CONFIG|_CONFIG_FILE)|LESS\w+"
    r"|PYTHON\w+|PERL5?\w+|RUBY\w+|NODE_\w+|JAVA_\w+|_JAVA_\w+|XDG_\w+_(?:HOME|DIRS)|CC|CXX|LD|AR|MAKE\w*"
    r"|(?:npm_config|NPM_CONFIG|PIP|UV|CARGO)_\w+|\w*(?:HTTPS?|ALL|FTP)_PROXY|\w+_proxy|TAR_\w+|RSYNC_\w+|SSH_\w+"
)
_HARMLESS = re.compile(
    r"GIT_(?:AUTHOR|COMMITTER)_\w+|GIT_(?:TERMINAL_PROMPT|OPTIONAL_LOCKS|MERGE_AUTOEDIT|TRACE\w*)|NODE_ENV|PIP_NO_\w+"
    r"|PYTHON(?:DONTWRITEBYTECODE|UNBUFFERED|HASHSEED|UTF8|IOENCODING|FAULTHANDLER|DEVMODE|ASYNCIODEBUG)"
)


def decides(name: str) -> bool:
    """Whether the variable *name* decides what is run.

    Example:
        >>> decides("GIT_SSH_COMMAND"), decides("GIT_AUTHOR_NAME"), decides("FOO")
        (True, False, False)
    """
    return _DECIDES.fullmatch(name) is not None and _HARMLESS.fullmatch(name) is None


_RUNS = re.compile(
    r"LD_\w+|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|PS4|GIT_(?:SSH\w*|EXTERNAL_DIFF|PROXY_COMMAND|ASKPASS|EDITOR|PAGER"
    r"|SEQUENCE_EDITOR|CONFIG\w*|EXEC_PATH|TEMPLATE_DIR)|\w*PAGER|\w*EDITOR|VISUAL|BROWSER|\w*ASKPASS|LESS(?:OPEN|CLOSE)"
    r"|PERL5OPT|PERL5DB|RUBYOPT|NODE_OPTIONS|PYTHON(?:STARTUP|WARNINGS|BREAKPOINT|HOME|INSPECT)|JAVA_TOOL_OPTIONS"
    r"|_JAVA_OPTIONS|RSYNC_RSH|TAR_OPTIONS|MAKEFLAGS|\w*_RSH|OPENSSL_CONF|GCONV_PATH"
)
_PLAIN = frozenset({"", "cat", "true", ":", "less", "more", "vi", "vim", "nano", "code", "less -R", "less -FRX"})


def runs_programs(name: str, value: str | None) -> bool:
    """Whether the variable *name* with *value* makes other programs run or load what it names.

    Args:
        name: The variable.
        value: Its value; None where the shell computes it.

    Example:
        >>> runs_programs("GIT_PAGER", "cat"), runs_programs("GIT_PAGER", "./x"), runs_programs("PYTHONPATH", "src")
        (False, True, False)
    """
    if name == "PATH":
        return value is not None and value.startswith(".")
    return _RUNS.fullmatch(name) is not None and value not in _PLAIN
