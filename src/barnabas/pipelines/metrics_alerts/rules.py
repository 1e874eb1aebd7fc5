"""What counts as trouble, per metric. Change the table, or give another with `--rules FILE`.

A file is a JSON list: [{"metric": "cpu_percent", "limit": 90, "change": 0.6, "least_change": 20}, ...]
"""

import json
from dataclasses import dataclass
from pathlib import Path

from barnabas.pipelines.common.settings import BadSetting


@dataclass(frozen=True, slots=True)
class Rule:
    metric: str
    limit: float
    """A window's mean above it is an alert (`threshold`)."""
    change: float
    """A mean that differs from the window before by more than this share of it is one too (`change`)..."""
    least_change: float
    """... if it differs by at least this much: from 1 ms to 2 ms is no news."""


RULES: tuple[Rule, ...] = (
    Rule("cpu_percent", 90, 0.6, 20),
    Rule("memory_percent", 90, 0.4, 20),
    Rule("disk_percent", 90, 0.2, 15),
    Rule("request_latency_ms", 500, 1.0, 100),
)


def read_rules(path: str) -> tuple[Rule, ...]:
    """The rules of a file; the table above without one. Raises BadSetting."""
    if not path:
        return RULES
    try:
        return tuple(Rule(**rule) for rule in json.loads(Path(path).read_text()))
    except (TypeError, ValueError, OSError) as error:
        raise BadSetting(f"{path}: not a list of rules ({error})") from error
