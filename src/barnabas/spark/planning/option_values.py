"""One option's text as a value: numbers, booleans, durations, JSON by topic and partition.

`BadOption` is the only error; its message is what the user of Spark reads.
"""

import json
import re
from collections.abc import Mapping

from barnabas.spark.planning import Offsets, TopicPartition

_LONGEST = 2**63 - 1
_INT = 2**31 - 1
_DURATION = re.compile(r"(-?[0-9]+)([a-z]+)?")
_MILLISECONDS = {
    "us": 0.001,
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


class BadOption(ValueError):
    """An option is missing, contradicts another, or says nothing usable."""


def whole(options: Mapping[str, str], name: str, *, largest: int = _LONGEST) -> int | None:
    """The option's number. Returns None if the option is not given. Raises BadOption."""
    text = options.get(name.lower())
    if text is None:
        return None
    try:
        number = int(text.strip())
    except ValueError:
        raise BadOption(f"Option '{name}' must be a whole number, got '{text}'") from None
    if not -largest - 1 <= number <= largest:
        raise BadOption(f"Option '{name}' is out of range: {number}")
    return number


def positive(options: Mapping[str, str], name: str, *, largest: int = _LONGEST) -> int | None:
    number = whole(options, name, largest=largest)
    if number is not None and number <= 0:
        raise BadOption(f"{name} must be positive")
    return number


def positive_int(options: Mapping[str, str], name: str) -> int | None:
    return positive(options, name, largest=_INT)


def flag(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name.lower())
    if text is None:
        return default
    if text.strip().lower() not in {"true", "false"}:
        raise BadOption(f"Option '{name}' must be true or false, '{text}' is not a boolean string.")
    return text.strip().lower() == "true"


def duration_ms(options: Mapping[str, str], name: str, default: str) -> int:
    """`15m`, `30s`, `250ms`; a bare number is milliseconds, as Spark reads it."""
    text = options.get(name.lower(), default).strip().lower()
    match = _DURATION.fullmatch(text)
    unit = match[2] or "ms" if match else ""
    if match is None or unit not in _MILLISECONDS:
        raise BadOption(
            f"Option '{name}': time must be specified as seconds (s), milliseconds (ms), microseconds (us), "
            f"minutes (m or min), hour (h), or day (d). E.g. 50s, 100ms, or 250us. Got '{text}'"
        )
    return int(int(match[1]) * _MILLISECONDS[unit])


def assigned_partitions(text: str) -> tuple[TopicPartition, ...]:
    """`{"orders":[0,1]}`. Raises BadOption."""
    complaint = BadOption(f'Expected e.g. {{"topicA":[0,1],"topicB":[0,1]}}, got {text}')
    topic_partitions: set[TopicPartition] = set()
    for topic, numbers in _json_object(text, complaint).items():
        if not isinstance(numbers, list) or not all(map(_is_number, numbers)):
            raise complaint
        topic_partitions.update((topic, number) for number in numbers)
    return tuple(sorted(topic_partitions))


def partition_offsets(text: str) -> Offsets:
    """`{"orders":{"0":23,"1":-1}}`. Raises BadOption."""
    return _numbers(
        text, BadOption(f'Expected e.g. {{"topicA":{{"0":23,"1":-1}},"topicB":{{"0":-2}}}}, got {text}')
    )


def partition_timestamps(text: str) -> dict[TopicPartition, int]:
    """`{"orders":{"0":1700000000000}}`. Raises BadOption."""
    return _numbers(
        text,
        BadOption(
            'Expected e.g. {"topicA": {"0": 123456789, "1": 123456789}, '
            f'"topicB": {{"0": 123456789, "1": 123456789}}}}, got {text}'
        ),
    )


def _numbers(text: str, complaint: BadOption) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for topic, partitions in _json_object(text, complaint).items():
        if not isinstance(partitions, dict):
            raise complaint
        for partition, number in partitions.items():
            if not _is_partition(partition) or not _is_number(number):
                raise complaint
            found[topic, int(partition)] = number
    return found


def _json_object(text: str, complaint: BadOption) -> dict[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise complaint from None
    if not isinstance(value, dict):
        raise complaint
    return value


def _is_partition(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) <= _INT


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_LONGEST - 1 <= value <= _LONGEST
