"""Mathematical letters and symbols: those of commands without arguments, and the Unicode alphabets."""

from __future__ import annotations

import unicodedata

SYMBOLS = {
    "arg": "arg", "N": "ℕ", "Z": "ℤ", "Q": "ℚ", "R": "ℝ", "C": "ℂ", "Complex": "ℂ", "real": "ℜ", "image": "ℑ",
    "alef": "ℵ",
    "Alpha": "Α", "Beta": "Β", "Epsilon": "Ε", "Zeta": "Ζ", "Eta": "Η", "Iota": "Ι", "Kappa": "Κ", "Mu": "Μ", "Nu": "Ν",
    "Omicron": "Ο", "Rho": "Ρ", "Tau": "Τ", "Chi": "Χ", "weierp": "℘", "infin": "∞", "empty": "∅", "exist": "∃",
    "isin": "∈", "plusmn": "±", "sdot": "⋅", "ratio": "∶", "vcentcolon": ":", "rarr": "→", "larr": "←", "lrarr": "↔",
    "Rarr": "⇒", "Larr": "⇐", "uarr": "↑", "darr": "↓", "langle": "⟨", "rangle": "⟩", "vert": "|", "Vert": "∥",
    "lvert": "|", "rvert": "|", "lVert": "∥", "rVert": "∥", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉",
    "{": "{", "}": "}", "|": "∥", "%": "%", "#": "#", "_": "_", "$": "$", "&": "&", "P": "¶", "sect": "§", "dag": "†",
    "ddag": "‡", "copyright": "©", "clubs": "♣", "diamonds": "♢", "hearts": "♡", "spades": "♠", "relax": "",
}  # fmt: skip
"""The symbols of commands that latex2mathml leaves unchanged."""
_ALPHABETS = {
    "bold": "BOLD", "italic": "ITALIC", "bold-italic": "BOLD ITALIC", "script": "SCRIPT", "bold-script": "BOLD SCRIPT",
    "fraktur": "FRAKTUR", "bold-fraktur": "BOLD FRAKTUR", "double-struck": "DOUBLE-STRUCK", "sans-serif": "SANS-SERIF",
    "bold-sans-serif": "SANS-SERIF BOLD", "sans-serif-italic": "SANS-SERIF ITALIC", "monospace": "MONOSPACE",
    "sans-serif-bold-italic": "SANS-SERIF BOLD ITALIC",
}  # fmt: skip
_EARLIER = {"SCRIPT": "SCRIPT", "FRAKTUR": "BLACK-LETTER", "DOUBLE-STRUCK": "DOUBLE-STRUCK"}
"""Alphabets some of whose letters were in Unicode before the others."""


def in_alphabet(text: str, variant: str) -> str:
    """Returns *text* in one of MathML 3's variants, for which MathML Core uses Unicode letters."""
    alphabet = _ALPHABETS.get(variant)
    return text if alphabet is None else "".join(_letter(each, alphabet) for each in text)


def _letter(letter: str, alphabet: str) -> str:
    if alphabet == "ITALIC" and letter == "h":
        return "ℎ"
    name = unicodedata.name(letter, "").replace("LATIN ", "").replace("GREEK ", "").replace(" LETTER", "")
    for wanted in (f"MATHEMATICAL {alphabet} {name}", f"{_EARLIER.get(alphabet, '')} {name}"):
        try:
            return unicodedata.lookup(wanted)
        except KeyError:
            continue
    return letter
