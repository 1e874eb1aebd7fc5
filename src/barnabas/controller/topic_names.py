"""Legal topic names (Kafka's `Topic`), and the names of internal topics."""

import re
from collections.abc import Iterable

from barnabas.base.errors import InvalidTopic
from barnabas.metadata.image import INTERNAL_TOPICS

MAX_NAME_LENGTH = 249
CLUSTER_METADATA_TOPIC = "__cluster_metadata"

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def validate_topic_name(name: str) -> None:
    """Raise InvalidTopic unless `name` is a legal topic name."""
    reason = _reason_against(name)
    if reason:
        raise InvalidTopic(f"Topic name is invalid: {reason}")


def is_legal_topic_name(name: str) -> bool:
    return not _reason_against(name)


def is_internal(name: str) -> bool:
    return name in INTERNAL_TOPICS


def _reason_against(name: str) -> str:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if not _LEGAL.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return ""


def can_collide(name: str) -> bool:
    """Metric names do not distinguish `.` and `_`, so two topics may not differ in these alone."""
    return "." in name or "_" in name


def unify(name: str) -> str:
    return name.replace(".", "_")


def collisions(existing: Iterable[str]) -> dict[str, str]:
    """Unified name -> an existing topic, for names with `.` or `_`."""
    return {unify(name): name for name in existing if can_collide(name)}
