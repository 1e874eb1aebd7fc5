"""Java's regular expressions, which `subscribePattern` is written in, as Python's.

The two agree on nearly everything. What differs is put into Python's words: quotations (`\\Q...\\E`), names
of classes (`\\p{Alpha}`; names of topics are ASCII) and named groups. Unions and intersections of classes
(`[a-z&&[^b]]`) have no such words, and are refused rather than misread.
"""

import functools
import re

_TOKEN = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)"
    r"|\\(?P<sign>[pP])(?:\{(?P<name>\w+)\}|(?P<letter>\w))"
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
    in_class = False
    for token in _TOKEN.finditer(java):
        other = token["other"]
        if token["quoted"] is not None:
            words.append(re.escape(token["quoted"]))
        elif token["sign"] is not None:
            words.append(_class(token["sign"], token["name"] or token["letter"], in_class=in_class))
        elif token["group"] is not None:
            words.append(token["group"] if in_class else "(?P<")
        elif token["back"] is not None:
            words.append(f"(?P={token['back']})")
        elif in_class and other in ("[", "&&"):
            raise Untranslatable(f"'{other}' within [...] is not supported")
        else:
            in_class = other != "]" if in_class else other == "["
            words.append(other)
    return re.compile("".join(words))


def _class(sign: str, name: str, *, in_class: bool) -> str:
    members = _CLASSES.get(name.removeprefix("Is"))
    if members is None:
        raise Untranslatable(f"\\{sign}{{{name}}} is not supported")
    if sign == "p":
        return members if in_class else f"[{members}]"
    if in_class:
        raise Untranslatable(f"\\P{{{name}}} within [...] is not supported")
    return f"[^{members}]"
