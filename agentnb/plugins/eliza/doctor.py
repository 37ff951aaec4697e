"""The listener: keywords with ranks, patterns to take a sentence apart, answers to put it together again."""

from __future__ import annotations

import re
import sys
from collections import Counter, deque
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import msgspec

LONGEST_ECHO = 24
"""The most words of the user's that are echoed."""

LONGEST_CLAUSE = 80
"""The most words of a clause that are analysed, so that no prompt takes long."""

LONGEST_MEMORY = 12
"""The most remembered answers that wait; the oldest are forgotten."""

_CLAUSE_END = re.compile(r"(?<![.!?;:,])[.!?;:,]+(?=\s|$)|(?<!\s)\s+but\s+|\n+", re.IGNORECASE)
_WORD = re.compile(r"[\w'’]+")


class DoctorRule(msgspec.Struct, frozen=True):
    """One way to take a sentence apart, and the answers that can be made of the parts."""

    name: str
    pattern: str
    answers: tuple[str, ...]
    memory: tuple[str, ...] = ()

    def match(self, clause: str) -> tuple[str, ...] | None:
        """Returns the words that the stars matched, or None if the rule does not match."""
        match = _compiled(self.pattern).match(clause)
        return tuple(part.strip() for part in match.groups()) if match else None


class Keyword(msgspec.Struct, frozen=True):
    """Words that call for the same rules; the higher rank wins."""

    words: tuple[str, ...]
    rank: int
    rules: tuple[DoctorRule, ...]


class DoctorScript(msgspec.Struct, frozen=True, dict=True):
    keywords: tuple[Keyword, ...]
    expansions: dict[str, str]
    reflections: dict[str, str]
    last_reflections: dict[str, str]
    silence: DoctorRule
    otherwise: DoctorRule

    def find(self, word: str) -> Keyword | None:
        return self._index.get(word.lower())

    @cached_property
    def _index(self) -> dict[str, Keyword]:
        return {word: keyword for keyword in self.keywords for word in keyword.words}


class DoctorAnswer(msgspec.Struct, frozen=True):
    """An answer and its reason, which shows how the answer was found."""

    text: str
    reason: str


class Doctor(msgspec.Struct):
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    memory: deque[str] = msgspec.field(default_factory=lambda: deque(maxlen=LONGEST_MEMORY))

    def answer(self, text: str) -> DoctorAnswer:
        """Answer one prompt; the same prompts in the same order get the same answers."""
        clauses = self._clauses(text)
        if not clauses:
            return DoctorAnswer(self._next(self._script.silence), "Nothing was said.")
        for keyword, word, clause in self._candidates(clauses):
            for rule in keyword.rules:
                parts = rule.match(clause)
                if parts is not None:
                    return self._assemble(keyword, rule, word, parts)
        if self.memory:
            return DoctorAnswer(self.memory.popleft(), "No keyword; something said earlier came back.")
        return DoctorAnswer(self._next(self._script.otherwise), "No keyword, and nothing remembered.")

    def state(self) -> dict[str, Any]:
        """Returns counts and memory as JSON, for `restore`."""
        return {"counts": dict(self.counts), "memory": list(self.memory)}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Doctor:
        """Returns a doctor that continues where the one with that `state` stopped."""
        return cls(Counter(state["counts"]), deque(state["memory"], maxlen=LONGEST_MEMORY))

    @property
    def _script(self) -> DoctorScript:
        return load_script()

    def _clauses(self, text: str) -> list[str]:
        plain = text.replace("’", "'")
        clauses = (" ".join(clause.split()[:LONGEST_CLAUSE]) for clause in _CLAUSE_END.split(plain))
        return [_replace(self._script.expansions, clause) for clause in clauses if _WORD.search(clause)]

    def _candidates(self, clauses: list[str]) -> list[tuple[Keyword, str, str]]:
        candidates = [
            (keyword, word, clause)
            for clause in clauses
            for word in _WORD.findall(clause)
            if (keyword := self._script.find(word)) is not None
        ]
        return sorted(candidates, key=lambda candidate: -candidate[0].rank)

    def _assemble(self, keyword: Keyword, rule: DoctorRule, word: str, parts: tuple[str, ...]) -> DoctorAnswer:
        echoes = [word, *(self._reflect(part) for part in parts)]
        if rule.memory:
            kept = rule.memory[self.counts[rule.name] % len(rule.memory)]
            self.memory.append(_capitalise(kept.format(*echoes)))
        turn = self.counts[rule.name] % len(rule.answers) + 1
        text = _capitalise(self._next(rule).format(*echoes))
        heard = f"I heard “{word}” (rank {keyword.rank}), which fits “{rule.pattern}”"
        return DoctorAnswer(text, f"{heard}: answer {turn} of {len(rule.answers)}.")

    def _next(self, rule: DoctorRule) -> str:
        index = self.counts[rule.name] % len(rule.answers)
        self.counts[rule.name] += 1
        return rule.answers[index]

    def _reflect(self, part: str) -> str:
        words = part.split(" ")
        if len(words) > LONGEST_ECHO:
            words = [*words[:LONGEST_ECHO], "…"]
        last = self._script.last_reflections.get(words[-1].lower())
        if last is None:
            return _replace(self._script.reflections, " ".join(words))
        return " ".join([_replace(self._script.reflections, " ".join(words[:-1])), last]).strip()


@lru_cache(maxsize=1)
def load_script() -> DoctorScript:
    if sys.version_info >= (3, 11):  # imported here: costs start-up time, and most prompts in tests are commands
        import tomllib
    else:
        import tomli as tomllib
    data = tomllib.loads(Path(__file__).with_name("script.toml").read_text(encoding="utf-8"))
    return DoctorScript(
        keywords=tuple(_parse_keyword(entry) for entry in data["keyword"]),
        expansions=data["expansions"],
        reflections=data["reflections"],
        last_reflections=data["last_reflections"],
        silence=DoctorRule("silence", "", tuple(data["silence"])),
        otherwise=DoctorRule("otherwise", "", tuple(data["otherwise"])),
    )


def _parse_keyword(entry: dict[str, Any]) -> Keyword:
    words = tuple(entry["words"])
    rules = tuple(
        DoctorRule(f"{words[0]}/{number}", rule["pattern"], tuple(rule["answers"]), tuple(rule.get("memory", ())))
        for number, rule in enumerate(entry["rule"], 1)
    )
    return Keyword(words, entry["rank"], rules)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    pieces = ["(.*?)" if word == "*" else _either(word.split("|")) for word in pattern.split()]
    return re.compile(r"\s*".join(pieces) + "$", re.IGNORECASE | re.DOTALL)


def _either(words: list[str]) -> str:
    choice = "|".join(re.escape(word) for word in words)
    return rf"(?<![\w'])(?:{choice})(?![\w'])"


def _replace(table: dict[str, str], text: str) -> str:
    if not table or not text:
        return text
    return _table_pattern(tuple(table)).sub(lambda match: table[match.group().lower()], text)


@lru_cache(maxsize=8)
def _table_pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(_either(sorted(phrases, key=len, reverse=True)), re.IGNORECASE)


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
