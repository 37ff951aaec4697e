"""Parses shell scripts into commands, from the syntax tree that tree-sitter's bash grammar builds.

A script is unreadable if the grammar cannot parse it, or may parse it differently from a shell: with non-blank
characters between its tokens, comments inside words, words on two lines, here-documents that continue after their end.
There are two dialects, because the same text can be two scripts: in ``bash``, ``[[ a && rm b ]]`` only tests; to a
plain POSIX shell it is two commands.
"""

from __future__ import annotations

import functools
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from agentnb.policy.shell.tree import (
    Command,
    Compound,
    Computed,
    Function,
    Pipeline,
    Redirect,
    ShellScript,
    Simple,
    Text,
    Word,
)
from agentnb.policy.shell.words import WHOLE, TooManyWords, Unreadable, WordReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tree_sitter import Language, Node

Dialect: TypeAlias = Literal["bash", "posix"]

_LONGEST = 20_000
_DEEPEST = 24
_SURROGATES = re.compile("[\ud800-\udfff]")
_GAP = re.compile(rb"(?:[ \t\n]|\\\n)*")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_QUOTING = frozenset({"string", "heredoc_body"})
_RESERVED = frozenset({"{", "}", "then", "do", "done", "fi", "elif", "else", "esac", "!"})
_REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_SIMPLE = frozenset(
    {"command", "declaration_command", "unset_command", "variable_assignment", "variable_assignments", *_REDIRECTS}
)
_KINDS = {
    "subshell": "subshell",
    "compound_statement": "group",
    "if_statement": "if",
    "while_statement": "while",
    "for_statement": "for",
    "c_style_for_statement": "for",
    "case_statement": "case",
    "test_command": "test",
}
_STATEMENTS = frozenset({"pipeline", "redirected_statement", "function_definition", *_SIMPLE, *_KINDS})
_OPENED = frozenset({"list", "negated_command", "do_group", "elif_clause", "else_clause", "case_item"})
_WITH_WORDS = frozenset({"for_statement", "case_statement", "case_item"})
_ENDS_OF_CASES = frozenset({";;", ";&", ";;&"})


def parse(text: str, dialect: Dialect = "bash", depth: int = 0) -> ShellScript:
    if depth > _DEEPEST:
        raise Unreadable("It is nested too deeply to be checked.")
    if len(text) > _LONGEST:
        raise Unreadable(f"It has {len(text)} characters, too many to be checked.")
    if "\0" in text:
        raise Unreadable("It contains a NUL character.")
    if "\\\r\n" not in text:  # a backslash would escape the CR, and the line would end
        text = text.replace("\r\n", "\n")
    source = _SURROGATES.sub("\ufffd", text).encode()
    try:
        return _script(source, dialect, depth)
    except TooManyWords:
        raise
    except Unreadable:
        repaired = repaired_spelling(source)
        if repaired == source:
            raise
        return _script(repaired, dialect, depth)


def _script(source: bytes, dialect: Dialect, depth: int) -> ShellScript:
    root = _tree(source)
    if dialect == "posix" and (plain := plain_spelling(source, root)) != source:
        source, root = plain, _tree(plain)
    if root.has_error:
        raise Unreadable("It is not a valid shell script.")
    _check_gaps(source, root)
    return _Reader(source, dialect, depth).script(root.children)


@functools.cache
def _language() -> Language:
    # Imported here: they are loaded when the first command is rated, not when agentnb is imported.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


def _tree(source: bytes) -> Node:
    from tree_sitter import Parser

    return Parser(_language()).parse(source).root_node


def _check_gaps(source: bytes, root: Node) -> None:
    """Raise Unreadable if something that a shell would see is in no token."""
    if not (_GAP.fullmatch(source[: root.start_byte]) and _GAP.fullmatch(source[root.end_byte :])):
        raise Unreadable("It begins or ends with characters that are not allowed in a script.")
    rest = [root]
    while rest:
        node = rest.pop()
        end = node.start_byte
        for leaf in leaves(node, _QUOTING):
            if not _GAP.fullmatch(source[end : leaf.start_byte]):
                raise Unreadable("It has characters between its words that are not allowed in a script.")
            if leaf.type == "comment" and not _begins_word(source[: leaf.start_byte]):
                raise Unreadable("Part of a word was read as a comment.")
            rest += [child for child in leaf.children if child.children]
            end = leaf.end_byte


def _begins_word(before: bytes) -> bool:
    """True if a word begins after *before*."""
    while before.endswith(b"\\\n"):
        before = before[:-2]
    return not before or before[-1:] in b" \t\n;&|()<>"


class _Redirected(NamedTuple):
    """The redirections of a command, and what follows them on their line."""

    redirects: tuple[Redirect, ...]
    words: list[Word]
    pipes: list[Node]
    following: list[Node]


def _with(command: Command, redirected: _Redirected) -> Command:
    """Returns *command* with redirections; those after a list or a pipeline belong to its last command."""
    if isinstance(command, Pipeline):
        *first, last = command.commands
        return Pipeline(commands=(*first, _with(last, redirected)))
    if isinstance(command, Simple):
        words, redirects = (*command.words, *redirected.words), (*command.redirects, *redirected.redirects)
        return Simple(assignments=command.assignments, words=words, redirects=redirects)
    if redirected.words:
        raise Unreadable("Words follow the end of a command.")
    return Compound(kind="group", bodies=(ShellScript(commands=(command,)),), redirects=redirected.redirects)


class _Reader:
    """Makes commands from a syntax tree."""

    def __init__(self, source: bytes, dialect: Dialect, depth: int) -> None:
        self._depth = depth
        self._words = WordReader(source, self.script, lambda text: parse(text, dialect, self._depth + 1))

    def script(self, nodes: Iterable[Node]) -> ShellScript:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable("It is nested too deeply to be checked.")
        commands: list[Command] = []
        background: set[int] = set()
        for node in self._statements(nodes):
            if node.type == "&":
                background.add(len(commands) - 1)
            else:
                commands += self._read(node)
        self._depth -= 1
        return ShellScript(commands=tuple(commands), background=frozenset(background))

    def _statements(self, nodes: Iterable[Node]) -> Iterator[Node]:
        """Yields the commands in *nodes*, and each ``&`` that sends one to the background."""
        rest = list(nodes)[::-1]
        while rest:
            node = rest.pop()
            if node.type in _ENDS_OF_CASES and node.parent and node.parent.type != "case_item":
                raise Unreadable(f"{node.type!r} is unexpected.")
            if node.type in _OPENED:
                rest += reversed(node.children)
            elif node.type == "&" or node.type in _STATEMENTS:
                yield node
            elif node.is_named and node.type != "comment" and node.parent and node.parent.type not in _WITH_WORDS:
                raise Unreadable(f"Statements of the kind {node.type} are not supported.")

    def _read(self, node: Node) -> list[Command]:
        """Returns the command in *node*, and those that follow it on the line of a here-document."""
        match node.type:
            case "pipeline":
                return self._pipeline([self.script([each]) for each in node.children if each.is_named])
            case "function_definition":
                return [self._function(node)]
            case "redirected_statement":
                redirects = [each for each in node.children if each.type in _REDIRECTS]
                body = next((each for each in node.children if each.type not in _REDIRECTS), None)
                return self._redirected(body, redirects)
            case _:
                return self._redirected(node, [])

    def _pipeline(self, parts: Sequence[ShellScript]) -> list[Command]:
        """Returns the pipeline of *parts*, followed by the commands that a here-document's line adds."""
        commands: list[Command] = []
        after: list[Command] = []
        for part in parts:
            if part.commands:
                first = part.commands[0]
                commands += first.commands if isinstance(first, Pipeline) else [first]
                after += part.commands[1:]
        return [Pipeline(commands=tuple(commands)) if len(commands) > 1 else commands[0], *after]

    def _redirected(self, body: Node | None, redirects: Sequence[Node]) -> list[Command]:
        """Returns a command with redirections, and other commands that may follow on the line of a here-document."""
        nodes = [] if body is None else self._parts(body)
        redirected = self._redirects([*(each for each in nodes if each.type in _REDIRECTS), *redirects])
        before: tuple[Command, ...] = ()
        last: Command
        if body is None or body.type in _SIMPLE or body.children[0].type == "[":
            last = self._simple([each for each in nodes if each.type not in _REDIRECTS], redirected)
        elif body.type in _KINDS and not redirected.words:
            last = self._compound(body, redirected.redirects)
        else:
            *first, final = self.script([body]).commands
            before, last = tuple(first), _with(final, redirected)
        fed = [self.script([each]) for each in redirected.pipes]
        return [
            *before,
            *self._pipeline([ShellScript(commands=(last,)), *fed]),
            *self.script(redirected.following).commands,
        ]

    def _parts(self, node: Node) -> list[Node]:
        if node.type in {"variable_assignment", *_REDIRECTS}:
            return [node]
        return self._words.tested(node) if node.type == "test_command" else node.children

    # --- simple commands ---

    def _simple(self, nodes: Sequence[Node], redirected: _Redirected) -> Simple:
        begin = next((at for at, each in enumerate(nodes) if each.type != "variable_assignment"), len(nodes))
        assignments = [self._assignment(each) for each in nodes[:begin]]
        words = [*self._arguments(nodes[begin:]), *redirected.words]
        if words and words[0].plain in _RESERVED:
            raise Unreadable(f"{words[0].plain!r} is unexpected.")
        self._check_lines(nodes)
        return Simple(assignments=tuple(assignments), words=tuple(words), redirects=redirected.redirects)

    def _check_lines(self, nodes: Sequence[Node]) -> None:
        """Raise Unreadable if the words of one command are on two lines, or one is joined to an assignment."""
        for before, after in pairwise(nodes):
            gap = self._words.between(before, after)
            if "\n" in gap or (not gap and "variable_assignment" in {before.type, after.type}):
                raise Unreadable("Two commands were read as one.")

    def _arguments(self, nodes: Sequence[Node]) -> list[Word]:
        """Returns the words of a command; an assignment after its name counts as one of them."""
        words: list[Word] = []
        plain: list[Node] = []
        for node in nodes:
            if node.type in {"<", ">"}:  # `[ a > b ]` writes to b
                raise Unreadable("A test contains a redirection.")
            if node.type == "variable_assignment":
                name, value = self._assignment(node)
                sign = self._words.text(node.children[1])
                word = Word(parts=(Text(value=f"{name}{sign}"), *value.parts), source=value.source)
                words += [*self._words.words(plain), word]
                plain = []
            else:
                plain.append(node)
        return [*words, *self._words.words(plain)]

    def _assignment(self, node: Node) -> tuple[str, Word]:
        """Returns the name that is assigned to, and the value, whose source is the whole assignment."""
        target, _, *values = node.children
        name = self._words.text(target.children[0] if target.children else target)
        words = self._words.words(values)
        if len(words) > 1 or not _NAME.fullmatch(name):
            raise Unreadable("Two words were read as one.")
        parts = [part for word in words for part in word.parts]
        if target.children:
            parts.append(Computed(scripts=self._words.scripts(target)))
        return name, Word(parts=tuple(parts), source=self._words.text(node))

    # --- redirections ---

    def _redirects(self, nodes: Sequence[Node]) -> _Redirected:
        redirected = _Redirected((), [], [], [])
        for node in nodes:
            one = self._document(node) if node.type == "heredoc_redirect" else self._file(node)
            redirected = _Redirected(*(before + more for before, more in zip(redirected, one, strict=True)))  # type: ignore[operator]
        return redirected

    def _file(self, node: Node) -> _Redirected:
        """Returns ``> file`` or ``<<< text``, and the words of the command that may follow the file."""
        operator, *values = (each for each in node.children if each.type != "file_descriptor")
        self._check_lines([operator, *values])
        sign = self._words.text(operator)
        words = self._words.words(values)
        if sign.endswith("-"):
            words.insert(0, Word(parts=(Text(value="-"),), source="-"))
        if not words:
            raise Unreadable(f"Nothing follows {sign!r}.")
        redirect = Redirect(operator=sign.removesuffix("-"), target=words[0])
        return _Redirected((redirect,), words[1:], [], [])

    def _document(self, node: Node) -> _Redirected:
        """Returns a here-document, and what follows on its line."""
        parts = {each.type: each for each in node.children}
        start, end, body = (parts.get(f"heredoc_{kind}") for kind in ("start", "end", "body"))
        if start is None or end is None or body is None:
            raise Unreadable("A here-document is not closed.")
        operator = "<<-" if "<<-" in parts else "<<"
        target = self._words.text(start)
        text = Word(parts=tuple(self._words.document(start, body, end, tabs=operator == "<<-")), source="")
        redirect = Redirect(operator=operator, target=Word(parts=(), source=target), document=text)
        rest = self._redirects([each for each in node.children if each.type in _REDIRECTS])
        line = [each for each in node.children if each.is_named and not each.type.startswith("heredoc_")]
        return _Redirected(
            (redirect, *rest.redirects),
            [*self._words.words([each for each in line if each.type in WHOLE]), *rest.words],
            [*(each for each in line if each.type == "pipeline"), *rest.pipes],
            [*(each for each in line if each.type not in WHOLE | _REDIRECTS | {"pipeline"}), *rest.following],
        )

    # --- compound commands ---

    def _compound(self, node: Node, redirects: tuple[Redirect, ...]) -> Compound:
        """Returns a group, loop, choice or test: the words it examines, and everything it may run as one script."""
        kind = _KINDS[node.type]
        opening = node.children[0].type
        if kind == "test":
            words = self._words.words(self._words.tested(node)[1:-1])
            return Compound(kind=kind, words=tuple(words), redirects=redirects)
        if opening == "((":
            word = Word(parts=(Computed(scripts=self._words.scripts(node)),), source="((…))")
            return Compound(kind="arithmetic", words=(word,), redirects=redirects)
        children = node.children
        looked: list[Word] = []
        if node.type == "c_style_for_statement":
            expressions = [each for each in children if each.type not in {"do_group", "compound_statement"}]
            scripts = tuple(script for each in expressions for script in self._words.scripts(each))
            looked = [Word(parts=(Computed(scripts=scripts),), source="((…))")]
            children = [each for each in children if each not in expressions]
        name = next((self._words.text(each) for each in children if each.type == "variable_name"), None)
        items = [each for item in children if item.type == "case_item" for each in item.children]
        plain = [each for each in (*children, *items) if each.type in WHOLE - {"variable_name"}]
        return Compound(
            kind=kind,
            words=(*looked, *self._words.words(plain)),
            bodies=(self.script(children),),
            name=name if kind == "for" else None,
            redirects=redirects,
        )

    def _function(self, node: Node) -> Function:
        name, *rest = (each for each in node.children if each.is_named and each.type != "comment")
        redirects = self._redirects([each for each in rest if each.type in _REDIRECTS]).redirects
        body = self.script([each for each in rest if each.type not in _REDIRECTS])
        if redirects:
            body = ShellScript(commands=(Compound(kind="group", bodies=(body,), redirects=redirects),))
        fixed = self._words.words([name])[0]
        return Function(name=fixed.fixed or fixed.source, body=body)


_LONGEST_REPAIRED = 8_000
"""In characters: the grammar takes up to 1.5 s for a text that it cannot parse, and twice that for a repaired one."""
_REPAIRS = (
    # `time` before a command that is not a program
    (re.compile(rb"(^|[;&|({\n][ \t]*)time(?:[ \t]+-p)?(?=[ \t]+(?:[{(!]|(?:if|for|while|until|case)[ \t]))"), rb"\1"),
    # `python - <<EOF`
    (re.compile(rb"([ \t])-(?=[ \t]*<<)"), rb"\1\\-"),
    # `{a,b}` in place of a program
    (re.compile(rb"(^|[;&|(\n][ \t]*)\{(?=[^ \t\n])"), rb"\1''{"),
    # a file that is opened for reading and writing
    (re.compile(rb"(\d)<>"), rb"\1>"),
    # a here-string after a file
    (
        re.compile(
            rb"(>[ \t]*[\w./-]{1,200})([ \t]*<<<[ \t]*(?:'[^']{0,999}'|\"[^\"]{0,999}\"|[\w./-]+)(?=[\s;&|)]|\Z))"
        ),
        rb"\2 \1",
    ),
)
"""Other spellings of constructs that the grammar does not know, tried if it fails."""
_PLAIN_SPELLINGS = {"[[": "\\[[", "&>": "& >", "&>>": "& >>", "function": "\\function", "select": "\\select"}
"""bash tokens that a plain shell reads differently, with the spelling for that reading."""


def repaired_spelling(source: bytes) -> bytes:
    """Returns *source* with constructs that the grammar does not know respelled, without changing its meaning."""
    if len(source) > _LONGEST_REPAIRED or b"$'" in source:  # in `$'…'`, two more quotes are not an empty text
        return source
    for pattern, spelling in _REPAIRS:
        source = pattern.sub(spelling, source)
    return source


def leaves(node: Node, whole: frozenset[str] = frozenset()) -> Iterator[Node]:
    """Yields the tokens of *node* in order; a node of one of the kinds *whole* counts as one token."""
    rest = [node]
    while rest:
        each = rest.pop()
        if each.children and each.type not in whole:
            rest += reversed(each.children)
        else:
            yield each


def plain_spelling(source: bytes, root: Node) -> bytes:
    """Returns *source* as a plain shell reads it: what only bash knows is escaped."""
    for leaf in reversed(list(leaves(root))):
        spelling = _PLAIN_SPELLINGS.get(leaf.type)
        if leaf.type == "ansi_c_string":
            spelling = "\\" + source[leaf.start_byte : leaf.end_byte].decode()
        elif leaf.type in {"((", "))"} and leaf.parent is not None and leaf.parent.type == "compound_statement":
            spelling = " ".join(leaf.type)
        if spelling is not None:
            source = source[: leaf.start_byte] + spelling.encode() + source[leaf.end_byte :]
    return source
