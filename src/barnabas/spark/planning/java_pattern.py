"""Java's regular expressions, which `subscribePattern` is written in, as Python's.

The two agree on nearly everything. What differs is put into Python's words: quotations (`\\Q...\\E`), names
of classes (`\\p{Alpha}`; names of topics are ASCII), named groups, and flags (`(?i)`), which count from where
they stand to the end of their group and which Python has at the beginning only. Unions and intersections of
classes (`[a-z&&[^b]]`) have no such words, and are refused rather than misread.
"""

import functools
import re

_TOKEN = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)"
    r"|\\(?P<sign>[pP])(?:\{(?P<name>\w+)\}|(?P<letter>\w))"
    r"|\(\?(?P<flags>[a-zA-Z]*(?:-[a-zA-Z]+)?)\)"
    r"|(?P<group>\(\?<(?![=!]))"
    r"|\\k<(?P<back>\w+)>"
    r"|(?P<other>\\.|&&|.)",
    re.DOTALL,
)
_CLASSES = {
    "Lower": "a-z", "Ll": "a-z", "Upper": "A-Z", "Lu": "A-Z",
    "Alpha": "a-zA-Z", "L": "a-zA-Z", "Digit": "0-9", "N": "0-9", "Nd": "0-9",
    "Alnum": "a-zA-Z0-9", "Punct": r"._\-", "P": r"._\-",
}  # fmt: skip
"""By the names that Java knows without their `Is`; of what may stand in the name of a topic."""


class Untranslatable(ValueError):
    """A pattern of Java that has no equal in Python."""


@functools.lru_cache(16)
def python_pattern(java: str) -> "re.Pattern[str]":
    """Raises Untranslatable, and re.error for what neither of them knows."""
    words: list[str] = []
    flags: list[list[str]] = [[]]
    """Those that count now, by the groups that are open."""
    in_class = False
    for token in _TOKEN.finditer(java):
        other = token["other"]
        if token["quoted"] is not None:
            words.append(re.escape(token["quoted"]))
        elif token["sign"] is not None:
            words.append(_class(token["sign"], token["name"] or token["letter"], in_class=in_class))
        elif token["back"] is not None:
            words.append(f"(?P={token['back']})")
        elif in_class:
            if other in ("[", "&&"):
                raise Untranslatable(f"'{other}' within [...] is not supported")
            in_class = other != "]"
            words.append(token[0])
        else:
            in_class = other == "["
            words.append(_structure(token, flags))
    return re.compile("".join([*words, *_closing(flags[0])]))


def _structure(token: "re.Match[str]", flags: list[list[str]]) -> str:
    """A token outside of classes. Flags open a group in Python: it ends with Java's, and at each branch."""
    other = token["other"]
    if token["flags"] is not None:
        flags[-1].append(f"(?{_known_flags(token['flags'])}:")
        return flags[-1][-1]
    if token["group"] is not None or other == "(":
        flags.append([])
        return "(?P<" if token["group"] is not None else "("
    if other == "|":
        return "".join([*_closing(flags[-1]), "|", *flags[-1]])
    if other == ")" and len(flags) > 1:
        return "".join([*_closing(flags.pop()), ")"])
    return token[0]


def _closing(flags: list[str]) -> list[str]:
    return [")"] * len(flags)


def _known_flags(flags: str) -> str:
    """Without those that change nothing in the name of a topic: line ends and Unicode."""
    return re.sub("[duU]", "", flags).removesuffix("-")


def _class(sign: str, name: str, *, in_class: bool) -> str:
    members = _CLASSES.get(name.removeprefix("Is"))
    if members is None:
        raise Untranslatable(f"\\{sign}{{{name}}} is not supported")
    if sign == "p":
        return members if in_class else f"[{members}]"
    if in_class:
        raise Untranslatable(f"\\P{{{name}}} within [...] is not supported")
    return f"[^{members}]"
