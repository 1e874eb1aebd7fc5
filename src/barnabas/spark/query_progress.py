"""What a query's progress says about its topics, under the names of Spark's Kafka connector.

Spark 4.3 takes no metrics from Python sources: `metrics` in their progress is missing. It keeps the offsets
of each batch and what the source reported as latest, and that is all the connector's metrics are made of.
So they are computed here, from the progress of a query or of a listener's event, in any process.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol, runtime_checkable

from barnabas.spark.planning import Offsets
from barnabas.spark.planning.offset_json import BadOffset, offset_dict, offsets_of

_OFFSETS: Final = ("startOffset", "endOffset", "latestOffset")


@runtime_checkable
class _Query(Protocol):
    @property
    def lastProgress(self) -> Any: ...  # noqa: N802  (Spark's name)


@runtime_checkable
class _Report(Protocol):
    @property
    def json(self) -> str: ...


def progress(source: object) -> dict[str, Any] | None:
    """The last progress of a StreamingQuery, or a StreamingQueryProgress, as a dict; None before the first
    batch.

    Each source that reads topics has, beside what Spark says: offsets without keys that name no topic; in
    `metrics` the connector's `minOffsetsBehindLatest`, `maxOffsetsBehindLatest` and
    `avgOffsetsBehindLatest`, which are texts there, too; and `offsetsBehindLatest`, the lag by topic, in
    records.
    """
    report: Any = source.lastProgress if isinstance(source, _Query) else source
    if report is None:
        return None
    found: dict[str, Any] = json.loads(report.json) if isinstance(report, _Report) else dict(report)
    return {**found, "sources": [_extended(each) for each in found.get("sources", ())]}


def _extended(source: Mapping[str, Any]) -> dict[str, Any]:
    positions = {name: _topics_alone(source.get(name)) for name in _OFFSETS}
    extended = dict(source)
    for name, offsets in positions.items():
        if offsets is not None:
            extended[name] = offset_dict(offsets)
    end, latest = positions["endOffset"], positions["latestOffset"]
    if end and latest:
        behind = _behind(end, latest)
        extended["metrics"] = source.get("metrics") or _metrics(behind)
        extended["offsetsBehindLatest"] = _by_topic(behind)
    return extended


def _topics_alone(written: object) -> Offsets | None:
    """None for what is no offset of topics: other sources have offsets of their own."""
    try:
        offsets = json.loads(written) if isinstance(written, str) else written
        return offsets_of(offsets) if isinstance(offsets, Mapping) else None
    except (BadOffset, ValueError):
        return None


def _behind(end: Offsets, latest: Offsets) -> Offsets:
    """A partition that no batch has read yet has all of its offsets to go."""
    return {
        topic_partition: max(0, offset - end.get(topic_partition, 0))
        for topic_partition, offset in latest.items()
    }


def _metrics(behind: Offsets) -> dict[str, str]:
    sizes = behind.values()
    return {
        "minOffsetsBehindLatest": str(min(sizes)),
        "maxOffsetsBehindLatest": str(max(sizes)),
        "avgOffsetsBehindLatest": str(sum(sizes) / len(sizes)),
    }


def _by_topic(behind: Offsets) -> dict[str, int]:
    lags: dict[str, int] = {}
    for (topic, _), size in sorted(behind.items()):
        lags[topic] = lags.get(topic, 0) + size
    return lags
