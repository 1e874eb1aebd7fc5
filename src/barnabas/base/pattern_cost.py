"""How large the program of a regular expression would get, estimated from its text in one pass.

RE2 matches in linear time, but compiling holds the interpreter's lock: patterns of a few bytes that repeat
(`x{0,1000}`), thousands of optional parts (`x?x?x?...`: quadratic time) and classes of Unicode (`\\pL`: 600
ranges each) take up to a second. The estimate is never far below the size that RE2 arrives at, so that such
a pattern is refused before it is compiled. Groups, repetitions, classes and escapes count; all other syntax
is left to RE2.
"""

import re

_UNICODE_CLASS_COST = 500
_WIDE_COST = 8
"""Any character: it has one to four bytes."""
_OPTIONAL_COST = 7
_BOUNDS = re.compile(r"\{(\d{1,4})(?:,(\d{0,4}))?\}")
_LARGEST = 1 << 40


def estimated_cost(pattern: str) -> int:
    """About the number of instructions; optional parts count for more, because they cost more."""
    sums: list[int] = [0]
    last = position = 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "(":
            sums.append(0)
            last = 0
        elif char == ")":
            last = sums.pop() + 2 if len(sums) > 1 else 1
            sums[-1] += last
        elif char in "?*+":
            more = _OPTIONAL_COST if char == "?" else 3
            sums[-1] += more
            last += more
        elif char == "{" and (bounds := _BOUNDS.match(pattern, position - 1)):
            position = bounds.end()
            repeated = last * (_repetitions(bounds) - 1)
            sums[-1], last = min(sums[-1] + repeated, _LARGEST), last + repeated
        else:
            last, position = _atom(pattern, char, position)
            sums[-1] += last
    return sum(sums)


def _repetitions(bounds: "re.Match[str]") -> int:
    """How often what is repeated is in the program; an optional copy counts more than once."""
    least = int(bounds[1])
    most = int(bounds[2]) if bounds[2] else least
    return max(least, 1) + _OPTIONAL_COST * max(most - least, 0)


def _atom(pattern: str, char: str, position: int) -> tuple[int, int]:
    """Cost of a character, an escape or a class that begins before `position`, and where it ends."""
    if char == "\\":
        is_class = pattern[position : position + 1] in ("p", "P")
        return (_UNICODE_CLASS_COST if is_class else 1), position + 1
    if char != "[":
        return (_WIDE_COST if char == "." else 1), position
    end = position + 1
    while end < len(pattern) and pattern[end] != "]":
        end += 2 if pattern[end] == "\\" else 1
    inside = pattern[position:end]
    wide = _WIDE_COST if inside.startswith("^") else 1
    return wide + _UNICODE_CLASS_COST * (inside.count("\\p") + inside.count("\\P")), end + 1
