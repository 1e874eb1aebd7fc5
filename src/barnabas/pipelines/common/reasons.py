"""The reason of a failure, in one line, extracted from Spark's error text.

Spark wraps what a Python worker or a `foreachBatch` function raised: its own condition first, then one or
several Python tracebacks, then Java's stack and the plan of the query. The reason is the last line of the
last traceback; without one, the deepest cause that Java names, else the message of Spark's condition.
"""

import re

_LONGEST = 1000
_TRACEBACK = "Traceback (most recent call last):"
_QUERY = "=== Streaming Query ==="
_RAISED = re.compile(r"^(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(: .*|:)?$")
"""`package.module.Class: message`."""
_CAUSE = re.compile(r"^Caused by: (?:[a-z_]\w*\.)*(\w.*)$")
_WRAPPINGS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: ",
        r"^\[FOREACH_BATCH_USER_FUNCTION_ERROR\] .*? Reason: ",
        r"^Job aborted due to stage failure: Task \d+ .*? most recent failure: ",
        r"^Lost task \S+ in stage \S+ \(TID \d+\) \(.*?\): ",
        r"^(?:[a-z_]\w*\.)+(?=[A-Z]\w*: )",
    )
)
_STATE = re.compile(r"(\s*SQLSTATE: \w+)+$")


def reason_of(error: Exception) -> str:
    text = _message_of(error).partition(_QUERY)[0]
    return (_of_python(text) or _of_java(text) or _first(text) or type(error).__name__)[:_LONGEST]


def _message_of(error: Exception) -> str:
    """What Spark says: of an exception of Java that is not converted, that one's own text."""
    text = str(error)
    java = getattr(error, "java_exception", None)
    return text if java is None or _TRACEBACK in text or "Caused by: " in text else str(java.toString())


def _of_python(text: str) -> str:
    """The line behind the frames of the last traceback."""
    _, found, rest = text.rpartition(_TRACEBACK)
    if not found:
        return ""
    for line in rest.splitlines()[1:]:
        if line and not line[0].isspace():
            raised = _RAISED.match(line)
            return _stateless(f"{raised[1]}{raised[2] or ''}" if raised else line)
    return ""


def _of_java(text: str) -> str:
    causes = [found[1] for line in text.splitlines() if (found := _CAUSE.match(line))]
    return _stateless(causes[-1]) if causes else ""


def _first(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    for wrapping in _WRAPPINGS:
        line = wrapping.sub("", line)
    return _stateless(line)


def _stateless(line: str) -> str:
    return _STATE.sub("", line).strip()
