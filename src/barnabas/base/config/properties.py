"""Java `.properties` files, as `server.properties` is written.

The grammar is that of `java.util.Properties`: `key=value`, `key: value` or `key value`; lines that begin with
`#` or `!` are comments; a backslash continues a line or escapes a character (`\\t`, `\\n`, `\\u00e9`, `\\=`);
the last of equal keys wins. One thing is added because practitioners write it: a `#` after white space ends a
value (`log.roll.hours=168  # a week`), unless it stands inside double quotes or is escaped.
"""

from collections.abc import Iterator
from pathlib import Path

from barnabas.base.errors import InvalidConfig

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def load_properties(path: Path | str) -> dict[str, str]:
    """Read a file. Bytes that are not UTF-8 are taken as ISO-8859-1, the encoding Java assumes."""
    raw = Path(path).read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("iso-8859-1")
    return parse_properties(text, source=str(path))


def parse_properties(text: str, *, source: str = "properties") -> dict[str, str]:
    properties: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key_end, value_start = _split(line)
        try:
            key = _unescape(line[:key_end])
            properties[key] = _unescape(_without_comment(line, value_start))
        except ValueError:
            raise InvalidConfig(f"{source}, line {number}: \\u must be followed by four hex digits") from None
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations joined, without comment lines and blank lines."""
    pending = ""
    first = 0
    for number, natural in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        stripped = natural.lstrip(_BLANK)
        if not pending:
            if not stripped or stripped[0] in "#!":
                continue
            first = number
        backslashes = len(stripped) - len(stripped.rstrip("\\"))
        if backslashes % 2:
            pending += stripped[:-1]
            continue
        yield first, pending + stripped
        pending = ""
    if pending:
        yield first, pending


def _split(line: str) -> tuple[int, int]:
    """Where the key ends and where the value begins."""
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANK:
        end += 2 if line[end] == "\\" else 1
    start = end
    while start < len(line) and line[start] in _BLANK:
        start += 1
    if start < len(line) and line[start] in "=:":
        start += 1
        while start < len(line) and line[start] in _BLANK:
            start += 1
    return end, start


def _without_comment(line: str, start: int) -> str:
    quoted = False
    position = start
    while position < len(line):
        character = line[position]
        if character == "\\":
            position += 2
            continue
        if character == '"':
            quoted = not quoted
        elif character == "#" and not quoted and line[position - 1] in _BLANK:
            return line[start:position].rstrip(_BLANK)
        position += 1
    return line[start:]


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    pieces: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character != "\\":
            pieces.append(character)
            continue
        escaped = text[position : position + 1]
        position += 1
        if escaped == "u":
            digits = text[position : position + 4]
            if len(digits) != 4 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
                raise ValueError(digits)
            pieces.append(chr(int(digits, 16)))
            position += 4
        else:
            pieces.append(_ESCAPES.get(escaped, escaped))
    return "".join(pieces)
