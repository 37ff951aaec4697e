"""Rates a program with its arguments: what it does to the files that it names, and what its input is."""

from __future__ import annotations

import base64
import posixpath
import re
from typing import TYPE_CHECKING

from agentnb.policy.commands.names import interprets, program_name
from agentnb.policy.commands.paths import changes_files, named, places, secret, without_bytes
from agentnb.policy.commands.table import Options, is_in_table, programs_of, rate_alone, rate_by_table, rate_unknown
from agentnb.policy.sensitive import sensitive_pattern
from agentnb.policy.severity import Risk, worst
from agentnb.policy.shell.tree import fields
from agentnb.policy.shell.words import ESCAPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agentnb.policy.commands.paths import NamedPath
    from agentnb.policy.sensitive import Patterns
    from agentnb.policy.shell.tree import Field, Simple

_DEVICE = re.compile(r"/dev/(?!(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd/\d+|shm/.*)$).+")
_SYSTEM = re.compile(r"(?:/|/(?:etc|usr|bin|sbin|lib\w*|boot|sys|proc|var|opt|root|System|Library)(?:/.*)?)$")
_EVERYTHING = frozenset({"/", "/*", "~", "~/", "~/*", "$HOME", "$HOME/", "$HOME/*", "..", "../", "../*"})
_OCTAL = re.compile(r"[0-7]{3,5}")
_OTHERS_WRITE = re.compile(r"(?:^|,)[ug]*[oa][ugoa]*[+=][rxXst]*w")
_SET_ID = re.compile(r"(?:^|,)[ugoa]*[+=][rwxXt]*s")


def target(path: str) -> Risk | None:
    """Returns the risk of writing to *path*, if it is a device or a system file; else None."""
    if _DEVICE.fullmatch(path):
        if path.startswith(("/dev/tcp/", "/dev/udp/")):
            return Risk("critical", f"Opens a network connection as if it were a file: {path}.")
        return Risk("critical", f"Writes to a device: {path}.")
    if _SYSTEM.fullmatch(path):
        return Risk("high", f"Changes a file of the system: {path}.")
    return None


def _move(options: Options) -> Risk:
    if _EVERYTHING.intersection(options.operands) or "/dev/null" in options.operands:
        return Risk("critical", "Moves something that must stay, or moves it away for good.")
    return _first(options, Risk("medium", "Moves files."))


def _copy(options: Options) -> Risk:
    return _first(options, Risk("low", "Writes files."))


def _copy_last(options: Options) -> Risk:
    written = options.operands if options.has("t", "--target-directory") else options.operands[-1:]
    return _copy(options._replace(operands=written))


def _first(options: Options, otherwise: Risk) -> Risk:
    places = (*options.operands, *(word.partition("=")[2] for word in options.words if "=" in word))
    return next((risk for each in places if (risk := target(each)) is not None), otherwise)


def _dd(options: Options) -> Risk:
    out = next((word[3:] for word in options.words if word.startswith("of=")), None)
    if out is None:
        return Risk("medium", "Copies raw data.")
    return target(out) or Risk("critical" if "$" in out else "high", f"Overwrites {out} with raw data.")


def _find(options: Options) -> Risk | None:
    if options.any("-delete"):
        return Risk("critical", "Deletes every file that it finds.")
    if options.any("-fprint", "-fprintf", "-fls", "-fprint0"):
        at = options.words.index(next(word for word in options.words if word.startswith(("-fprint", "-fls")))) + 1
        place = target(options.words[at]) if at < len(options.words) else None
        return place or Risk("medium", "Writes what it finds to a file.")
    return None


def _chmod(options: Options) -> Risk:
    for word in options.words:
        digits = _OCTAL.fullmatch(word)
        if (digits and int(word[-1]) & 2) or _OTHERS_WRITE.search(word):
            return Risk("high", f"Lets everyone on the machine write ({word}).")
        if (digits and len(word.lstrip("0")) > 3 and int(word[-4]) & 6) or _SET_ID.search(word):  # noqa: PLR2004 - a set-id digit
            return Risk("high", f"Lets a program run with its owner's permissions ({word}).")
    recursive = options.has("R", "--recursive")
    return Risk("medium" if recursive else "low", "Changes permissions.")


def _tar(options: Options) -> Risk | None:
    """``tar``: options that run programs, and unpacking to wherever the archive says."""
    programs = ("--to-com", "--checkpoint-a", "--use-c", "--rsh", "--info-s", "--new-v", "--rmt-c")
    if any(word.startswith(programs) for word in options.words) or options.short & {"I", "F"}:
        return Risk("high", "Runs another program while it unpacks.")
    if options.has("P", "--absolute-names"):
        return Risk("high", "Unpacks to wherever the archive says.")
    places = [words for words in options.words if re.match(r"(?:/|~|\.\.)", words)]
    if options.has("C", "--directory") and places:
        return Risk("high", f"Packs or unpacks files outside the workspace: {places[0]}.")
    return Risk("low", "Packs or unpacks files.")


RATERS: dict[str, Callable[[Options], Risk | None]] = {
    **dict.fromkeys(("mv", "move", "rename", "move-item"), _move),
    **dict.fromkeys(("ln", "tee", "touch", "mkdir", "link", "truncate", "rsync"), _copy),
    **dict.fromkeys(("cp", "install"), _copy_last),
    "dd": _dd,
    "find": _find,
    "chmod": _chmod,
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _tar),
}


def prefixed(program: str) -> Risk | None:
    """Rates families of programs that are recognized by the beginning of their names."""
    if program.startswith(("mkfs", "newfs_", "fsck.")):
        return Risk("critical", "Formats, partitions or wipes a disk.")
    return None


ADMIN = "The command asks for administrator rights."
SUPERUSER = frozenset({"sudo", "doas", "su", "pkexec", "gsudo", "runas", "run0", "sudoedit", "runuser"})
_SHOWS = re.compile(
    r"gh auth token|(?:gcloud|az) (?:\S+ )*(?:auth|account) (?:\S+ )*(?:print-|get-)access-token|gcloud auth print-\S+"
    r"|aws (?:\S+ )*(?:configure (?:get|export-credentials)|secretsmanager get|sts get-session|ssm get-param)"
    r"|kubectl (?:\S+ )*(?:get|describe|edit) secrets?\b|kubectl (?:\S+ )*config view|pass (?!init|ls|insert)\w+"
    r"|security (?:find|dump|export)|gpg2? (?:\S+ )*--export-secret|git credential|op (?:read|item|document)"
    r"|vault (?:kv|read)"
    r"|(?:npm|pnpm|yarn) token|heroku auth:token|docker (?:\S+ )*secret|jupyter (?:server|notebook|lab) list"
    r"|jq .*\benv\b|git (?:\S+ )*config (?:\S+ )*(?:--get\S* |get )?\S*(?:extraheader|password|token|secret)\S*$"
    r"|ssh-keygen (?:\S+ )*-[yD]|keyring get|secret-tool|kwallet|lpass show|bw (?:get|list|export)",
    re.IGNORECASE,
)

_SCRIPTS = {
    **dict.fromkeys(("python", "python2", "python3", "pypy", "pypy3"), "a Python script"),
    **dict.fromkeys(("node", "nodejs", "bun", "deno"), "a JavaScript program"),
    "rscript": "an R script",
    "julia": "a Julia script",
}
"""The kind of script that each program runs, for people."""


def rate_program(program: str, options: Options) -> Risk | None:
    """Returns the worst risk in the table or the code for *program* with *options*; None if it only looks."""
    return worst(filter(None, (rate_by_table(program, options), _rated_alone(program, options))))


def _rated_alone(program: str, options: Options) -> Risk | None:
    """Rates *program* by itself, by its cases in the table or by a function where rows could not express them."""
    line = " ".join((program, *options.words))
    if _gives_trust(line):
        return Risk("critical", "Lets agents act in a folder without asking.")
    if _SHOWS.match(line):
        return Risk("high", "Shows a credential.")
    if (risk := rate_alone(program, options)) is not None:
        return risk
    if program in RATERS:
        return RATERS[program](options)
    if is_read(program):
        return prefixed(program)
    what = _SCRIPTS.get(program, program)
    return rate_unknown(program, options) or Risk("low", f"Runs {what}; its effects aren't known.")


def rate_statements(client: str, text: str | None) -> list[Risk]:
    """Rates the statements *text* that a database *client* is fed; None means that they are unknown."""
    if text is None:
        return [Risk("high", f"{client} runs its input without checking it.")]
    rated = (rate_program(client, Options.of(words)) for words in (("-c", text), tuple(text.split())))
    return [each for each in rated if each is not None]


def is_read(program: str) -> bool:
    """True if the arguments of *program* are understood here, so that no other command is looked for in them."""
    return program in RATERS or is_in_table(program) or prefixed(program) is not None


def _gives_trust(line: str) -> bool:
    """True for a command by which an agent would free itself from being asked."""
    words = line.lower().split()
    if words and words[0].startswith("python"):
        at = next((at for at, word in enumerate(words) if word.startswith("-m")), len(words))
        words = words[at + 1 :] if words[at : at + 1] == ["-m"] else [each.removeprefix("-m") for each in words[at:]]
    return words[:1] == ["agentnb"] and "trust" in words and "--remove" not in words


DOWNLOADS = frozenset({"curl", "wget", "fetch", "http", "https", "aria2c", "lynx", "iwr", "nc", "ncat", "irm", "ssh"})
DECODES = frozenset(
    {"base64", "base32", "xxd", "openssl", "uudecode", "rev", "tr", "gunzip", "zcat", "gzip", "od", "sed"}
)

_PRINT_NOTHING = (["cat", "/dev/null"], ["echo", "-n"], ["echo", "-n", ""], ["printf", ""], ["printf", "%s", ""])


def fed_text(command: Simple, known: Mapping[str, str]) -> str | None:
    """Returns the last here-document or here-string that *command* reads from stdin; None if there is none."""
    for redirect in reversed(command.redirects):
        if redirect.document or redirect.operator == "<<<":
            return " ".join(field.text for field in fields(redirect.word, known))
    return None


def emptied(command: Simple, words: Sequence[Field]) -> Iterator[Risk]:
    """Yields a risk for each file that *command* empties: ``> file`` with nothing that could be written to it."""
    texts = [word.text for word in words]
    program = program_name(texts[0]) if texts else ":"
    read = {posixpath.normpath(text) for text in texts[1:] if text}
    read |= {posixpath.normpath(each.target.source) for each in command.redirects if each.operator == "<"}
    from_nothing = "/dev/null" in read
    silent = program in {":", "true", "false"} or texts in _PRINT_NOTHING
    silent = silent or (from_nothing and program in {"cat", "head", "tail"})
    for redirect in command.redirects:
        path = redirect.target.source
        if redirect.operator in {">", ">|"} and posixpath.normpath(path) in read - {"/dev/null"}:
            yield Risk("critical", f"Empties {path} before it is read.")
        if silent and redirect.operator in {">", ">|", "&>"} and not path.startswith("/dev/"):
            yield Risk("critical", f"Empties {path}.")
    if from_nothing and program in {"tee", "dd"}:
        yield Risk("critical", f"Empties {texts[-1]}.")


def echoed(program: str, words: Sequence[Field], fed: str | None) -> str | None:
    """Returns what *program* prints when it is fed *fed*; None if that cannot be determined."""
    if program not in {"cat", "tee"} and any(word.dynamic for word in words):
        return None
    texts = [word.text for word in words]
    match program:
        case "echo":
            options = [text for text in texts[:2] if text in {"-n", "-e", "-ne", "-en", "-E"}]
            output = " ".join(texts[len(options) :])
            return _escapes(output) if "e" in "".join(options) or "\\" in output else output
        case "printf":
            return _printed(texts)
        case "cat" | "tee" if not texts or texts == ["-"]:
            return fed
        case "base64" | "openssl" | "base32":
            return _decoded(program, texts, fed)
        case "xxd" if fed is not None and any("r" in text for text in texts):
            return _hex(fed)
        case "rev" if fed is not None and not texts:
            return "\n".join(line[::-1] for line in fed.split("\n"))
        case _:
            return None


_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|0?([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {**ESCAPES, "\\": "\\"}


def _escapes(text: str) -> str:
    """Returns *text* with the escapes decoded that ``echo -e`` and ``printf`` know, also octal and hexadecimal."""

    def meant(escape: re.Match[str]) -> str:
        hexadecimal = escape[1] or escape[2] or escape[3]
        if hexadecimal is not None:
            number = int(hexadecimal, 16)
            return chr(number) if number < 0x110000 else escape[0]  # noqa: PLR2004 - the last code point
        return chr(int(escape[4], 8) & 0xFF) if escape[4] is not None else _LETTERS.get(escape[5], escape[0])

    return _ESCAPE.sub(meant, text)


def _printed(texts: list[str]) -> str | None:
    """Returns what ``printf`` prints; None if that is unknown."""
    if not texts:
        return None
    form, values = _escapes(texts[0]), iter(texts[1:])
    out = form.replace("%%", "\0")
    while "%s" in out or "%b" in out:
        kind = min((kind for kind in ("%s", "%b") if kind in out), key=out.index)
        value = next(values, "")
        out = out.replace(kind, _escapes(value) if kind == "%b" else value, 1)
    return None if "%" in out else out.replace("\0", "%") + "".join(values)


def _decoded(program: str, texts: list[str], fed: str | None) -> str | None:
    if fed is None or not any(text in {"-d", "-D", "--decode", "-di"} for text in texts):
        return None
    decode = base64.b32decode if program == "base32" else base64.b64decode
    try:
        return decode("".join(fed.split()).encode()).decode()
    except ValueError:
        return None


def _hex(fed: str) -> str | None:
    try:
        return bytes.fromhex("".join(fed.split())).decode()
    except ValueError:
        return None


_ENTERING = frozenset({"cd", "pushd", "popd", "chdir"})
_TALKS = frozenset({"echo", "printf", "true", "false", ":", "exit", "head", "tail", "wc", "sort", "grep", "cat"})


class NamedFiles:
    """The files of one walk; remarks about them go to its *findings*."""

    def __init__(self, findings: list[Risk], patterns: Patterns) -> None:
        self.patterns = patterns
        self.places: list[NamedPath] = []
        self.sensitive: str | None = None
        self.through: tuple[str, ...] = ()
        self.sure = True
        self.loaded: set[str] = set()
        self._findings = findings
        self._entered: set[NamedPath] = set()

    def all(self, programs: set[str]) -> list[NamedPath]:
        """Returns the files; a folder that ``cd`` enters counts as listed only if all *programs* only list."""
        if programs <= programs_of("listing") | _TALKS:
            return self.places
        return [place._replace(lists=False) if place in self._entered else place for place in self.places]

    def add(self, place: NamedPath) -> None:
        """Add a file, together with the folders that the script may have entered before."""
        self.places.append(place._replace(through=self.through, sure=self.sure))

    def add_all(self, program: str, arguments: Sequence[Field], *, computing: bool) -> None:
        """Add the files among the arguments of *program*, and note if it may change the shell's folder."""
        for place in places(program, arguments, computing=computing):
            self.add(place)
            if program in _ENTERING:
                self._entered.add(self.places[-1])
        if program in _ENTERING:
            wanted = [word.text for word in arguments if word.text == "-" or not word.text.startswith("-")]
            self.through = (*self.through, "-" if program == "popd" else wanted[0] if wanted else "~")

    def name_sensitive(self, program: str, arguments: Sequence[Field], *, computing: bool) -> None:
        """Report sensitive files among the arguments; what ``echo`` prints is text, unless something else reads it."""
        if program in {"echo", "printf", "true", ":"} and not computing:
            return
        changes = changes_files(program, arguments)
        for word in arguments:
            for path in named(without_bytes(word.text) if interprets(program) else word.text):
                if secret(path) or (changes and sensitive_pattern(path, self.patterns)):
                    self.name(path)

    def name(self, path: str) -> None:
        """Add a finding for a sensitive file; the first such file is kept for the card."""
        self.sensitive = self.sensitive or path
        what = "named like a secret" if secret(path) else "that decides what runs later"
        self._findings.append(Risk("high", f"May touch a file {what}: {path}."))

    def download(self, program: str, words: Sequence[Field]) -> None:
        """Remember files that a download writes, and find commands that run one of them."""
        texts = [word.text for word in words[1:]]
        if program in DOWNLOADS:
            self.loaded |= {posixpath.basename(text) for word in texts for text in named(word)}
            return
        runs = texts if interprets(program) or program in {"source", ".", "chmod"} else [words[0].text]
        if self.loaded.intersection(map(posixpath.basename, runs)):
            self._findings.append(Risk("high", "Runs what it loads from the network without checking it."))
