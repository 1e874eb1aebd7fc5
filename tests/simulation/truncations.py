"""Watches every truncation of a log: `truncated-below-high-watermark`.

What is below the high watermark of a replica is committed. No leader can have other records there, so no
truncation goes below it, unless a leader was elected outside of the ISR.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

from tests.simulation.violation import Violation

from barnabas.storage.log import Log

Report = Callable[[Violation], None]


@contextmanager
def watched_truncations(report: Report) -> Iterator[None]:
    truncate_to = Log.truncate_to

    def watched(log: Log, offset: int) -> bool:
        if offset < min(log.high_watermark, log.log_end_offset):
            details = f"{log.topic_partition} to {offset}, the high watermark is {log.high_watermark}"
            report(Violation("truncated-below-high-watermark", details))
        return truncate_to(log, offset)

    with mock.patch.object(Log, "truncate_to", watched):
        yield
