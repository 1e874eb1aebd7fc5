r"""Subscriptions by regular expression (KIP-848): which topics a member's pattern names.

The syntax is RE2's, as in Kafka, and a pattern has to match the whole name of a topic. Any client
that may send a heartbeat can send a pattern, so it must not be able to stall the broker. RE2 never
backtracks: its cost is bounded by the size of the program times the length of the names. Two limits bound the
rest:

- compiling holds the interpreter's lock. What would take long is refused before, by an estimate
  (`base.pattern_cost`): the worst that is let through takes some 15 ms;
- a hostile program of the largest size takes some 50 ms for a name of 249 letters (an ordinary pattern takes
  3 microseconds). Matching gives the interpreter's lock away, so that a caller can do it in a thread.

RE2 is loaded with the first pattern: a broker without such subscriptions does not pay for it.
"""

from collections.abc import Iterable
from typing import Protocol, cast

from barnabas.base.errors import InvalidRegularExpression
from barnabas.base.pattern_cost import estimated_cost

MAX_PATTERN_BYTES = 8192
MAX_PROGRAM_SIZE = 10_000
"""In RE2's instructions; about one for each letter of a pattern without repetitions."""

_SHOWN = 200


class _CompiledPattern(Protocol):
    @property
    def programsize(self) -> int: ...

    def fullmatch(self, text: bytes) -> object | None: ...


class TopicRegex:
    """A pattern that is known to be valid. Immutable; any thread may use it."""

    def __init__(self, pattern: str, compiled: _CompiledPattern) -> None:
        self.pattern: str = pattern
        self._compiled: _CompiledPattern = compiled

    def matching(self, names: Iterable[str]) -> frozenset[str]:
        fullmatch = self._compiled.fullmatch
        return frozenset(name for name in names if fullmatch(name.encode()) is not None)


def compile_topic_regex(pattern: str) -> TopicRegex:
    """Raises InvalidRegularExpression, with RE2's reason."""
    import re2  # type: ignore[import-untyped]

    try:
        encoded = pattern.encode()
    except UnicodeEncodeError:
        raise _invalid(pattern, "it is not Unicode text") from None
    if len(encoded) > MAX_PATTERN_BYTES:
        raise _invalid(pattern, f"it is longer than {MAX_PATTERN_BYTES} bytes")
    if estimated_cost(pattern) > MAX_PROGRAM_SIZE:
        raise _invalid(pattern, f"it takes more than {MAX_PROGRAM_SIZE} instructions")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        compiled = cast(_CompiledPattern, re2.compile(encoded, options))
    except re2.error as error:
        raise _invalid(pattern, _reason(error)) from None
    finally:
        # The library would keep 128 patterns, of up to 8 MB each, that any client may have sent.
        re2.purge()
    if compiled.programsize > MAX_PROGRAM_SIZE:
        raise _invalid(pattern, f"it takes more than {MAX_PROGRAM_SIZE} instructions")
    return TopicRegex(pattern, compiled)


def _reason(error: Exception) -> str:
    raw = error.args[0]
    return raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)


def _invalid(pattern: str, reason: str) -> InvalidRegularExpression:
    return InvalidRegularExpression(
        f"SubscribedTopicRegex `{pattern[:_SHOWN]}` is not a valid regular expression: {reason[:_SHOWN]}."
    )
