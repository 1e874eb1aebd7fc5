"""Bugs to plant in a broker, one for each kind of anomaly: a checker that finds none of them proves nothing.

`python -m tests.faults.transactions.flaws FLAW serve ...` is `barnabas serve ...` with that flaw. Each
replaces one function of the broker by one that is wrong now and then.
"""

import itertools
import sys
from collections.abc import Callable
from typing import Any

from barnabas.base.errors import ErrorCode, KafkaError, OffsetOutOfRange
from barnabas.cli.main import main as barnabas
from barnabas.group.offsets.transactional_offsets import TransactionalOffsets
from barnabas.replication.partition import Partition
from barnabas.replication.partition_environment import FetchIsolation
from barnabas.storage.append_info import AppendInfo, AppendOrigin
from barnabas.storage.producer_state import ProducerStates
from barnabas.transaction import marker_writer

Function = Callable[..., Any]
_TOPICS_OF_THE_RUN = ("source", "target")


class NotEnoughReplicasAfterAppend(KafkaError):
    """On this error a producer sends its batch again."""

    code = ErrorCode.not_enough_replicas_after_append


def _replace(owner: object, name: str, change: Callable[[Function], Function]) -> None:
    setattr(owner, name, change(getattr(owner, name)))


def _every(count: int) -> Callable[[], bool]:
    numbers = itertools.count(1)
    return lambda: next(numbers) % count == 0


def aborted_transactions_are_not_listed() -> None:
    _replace(Partition, "aborted_in", lambda _: lambda *_: [])


def last_stable_offset_is_ignored() -> None:
    def change(read: Function) -> Function:
        isolation = FetchIsolation.HIGH_WATERMARK
        return lambda *offset, **options: read(*offset, **{**options, "isolation": isolation})

    _replace(Partition, "read", change)


def commit_reaches_a_partition_as_abort() -> None:
    is_due = _every(15)

    def change(build: Function) -> Function:
        def build_wrong(producer_id: int, epoch: int, is_commit: bool, *rest: Any) -> Any:
            return build(producer_id, epoch, is_commit and not is_due(), *rest)

        return build_wrong

    _replace(marker_writer, "build_end_marker", change)


def markers_are_not_written() -> None:
    """To one partition, after the first ones; the response says that they are written."""
    written = itertools.count()

    def change(append: Function) -> Function:
        def append_or_not(partition: Partition, *what: Any, **options: Any) -> Any:
            is_marker = options.get("origin") is AppendOrigin.COORDINATOR
            if is_marker and partition.topic_partition == (_TOPICS_OF_THE_RUN[0], 1) and next(written) >= 5:
                end = partition.log.high_watermark
                return AppendInfo(end - 1, end - 1, -1, 0)
            return append(partition, *what, **options)

        return append_or_not

    _replace(Partition, "append", change)


def repetitions_are_requested() -> None:
    """No flaw yet: now and then a producer gets an error for a batch that was stored."""
    is_due = _every(20)

    def change(append: Function) -> Function:
        def append_and_complain(partition: Partition, *what: Any, **options: Any) -> Any:
            appended = append(partition, *what, **options)
            if _is_of_a_client(partition, options) and is_due():
                raise NotEnoughReplicasAfterAppend("planted")
            return appended

        return append_and_complain

    _replace(Partition, "append", change)


def repetitions_are_stored() -> None:
    repetitions_are_requested()
    _replace(ProducerStates, "check", lambda _: lambda *_, **__: None)


def earlier_offsets_are_acknowledged() -> None:
    is_due = _every(10)

    def change(append: Function) -> Function:
        def append_and_lie(partition: Partition, *what: Any, **options: Any) -> Any:
            appended = append(partition, *what, **options)
            if _is_of_a_client(partition, options) and is_due():
                appended.base_offset = max(0, appended.base_offset - 2)
            return appended

        return append_and_lie

    _replace(Partition, "append", change)


def fetches_begin_too_late() -> None:
    is_due = _every(40)

    def change(read: Function) -> Function:
        def read_late(partition: Partition, offset: int, *limits: Any, **options: Any) -> Any:
            late = offset + 3
            if (
                partition.topic_partition.topic in _TOPICS_OF_THE_RUN
                and late < partition.log.last_stable_offset
                and is_due()
            ):
                return read(partition, late, *limits, **options)
            return read(partition, offset, *limits, **options)

        return read_late

    _replace(Partition, "read", change)


def readers_are_sent_back() -> None:
    """To the beginning: what they ask for is said not to be there."""
    is_due = _every(100)

    def change(read: Function) -> Function:
        def read_or_refuse(partition: Partition, offset: int, *limits: Any, **options: Any) -> Any:
            if partition.topic_partition.topic in _TOPICS_OF_THE_RUN and offset > 5 and is_due():
                raise OffsetOutOfRange("planted")
            return read(partition, offset, *limits, **options)

        return read_or_refuse

    _replace(Partition, "read", change)


def committed_offsets_are_dropped() -> None:
    is_due = _every(3)

    def change(end: Function) -> Function:
        def end_wrong(offsets: Any, producer_id: int, *, is_commit: bool) -> Any:
            return end(offsets, producer_id, is_commit=is_commit and not is_due())

        return end_wrong

    _replace(TransactionalOffsets, "end", change)


def aborted_offsets_are_committed() -> None:
    def change(end: Function) -> Function:
        return lambda offsets, producer_id, *, is_commit: end(offsets, producer_id, is_commit=True)

    _replace(TransactionalOffsets, "end", change)


def _is_of_a_client(partition: Partition, options: dict[str, Any]) -> bool:
    origin = options.get("origin", AppendOrigin.CLIENT)
    return origin is AppendOrigin.CLIENT and partition.topic_partition.topic in _TOPICS_OF_THE_RUN


FLAWS: dict[str, Callable[[], None]] = {
    flaw.__name__: flaw
    for flaw in (
        aborted_transactions_are_not_listed,
        last_stable_offset_is_ignored,
        commit_reaches_a_partition_as_abort,
        markers_are_not_written,
        repetitions_are_requested,
        repetitions_are_stored,
        earlier_offsets_are_acknowledged,
        fetches_begin_too_late,
        readers_are_sent_back,
        committed_offsets_are_dropped,
        aborted_offsets_are_committed,
    )
}


if __name__ == "__main__":
    FLAWS[sys.argv.pop(1)]()
    sys.exit(barnabas())
