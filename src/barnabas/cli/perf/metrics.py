"""The metrics of the client at the end of a test: librdkafka's statistics in the format of Kafka's table.

The names are librdkafka's; the Java clients have others.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

INTERVAL_MS = 200


class Statistics:
    """librdkafka's `stats_cb`: keeps the newest."""

    def __init__(self) -> None:
        self._newest: str = "{}"

    def __call__(self, text: str) -> None:
        self._newest = text

    def settings(self) -> dict[str, object]:
        """For `open_producer` and `open_consumer`."""
        return {"stats_cb": self, "statistics_interval_ms": INTERVAL_MS}

    def table(self, kind: str) -> str:
        """`kind` is `producer` or `consumer`."""
        found = json.loads(self._newest)
        client = found.get("client_id", "")
        rows = sorted(
            (f"{kind}-{group}:{name}:{{client-id={client}}}", value) for group, name, value in _rows(found)
        )
        width = max([len("Metric Name"), *(len(name) for name, _ in rows)])
        lines = ["", f"{'Metric Name':<{width}}   Value"]
        lines += [f"{name:<{width}} : {value}" for name, value in rows]
        return "\n".join(lines)


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, str, object]]:
    """Metrics of the client, and of each broker it connected to."""
    yield from (("metrics", name, value) for name, value in found.items() if isinstance(value, int | float))
    for broker in found.get("brokers", {}).values():
        if broker.get("nodeid", -1) >= 0:
            group = f"node-{broker['nodeid']}-metrics"
            yield from (
                (group, name, value) for name, value in broker.items() if isinstance(value, int | float)
            )
