"""Fetch sessions remember partitions, report only changes, and evict old sessions."""

import itertools
from collections.abc import Iterator
from random import Random
from typing import NamedTuple
from uuid import UUID

import pytest

from barnabas.base.clock import ManualClock
from barnabas.base.errors import ErrorCode
from barnabas.base.ids import ZERO_UUID
from barnabas.handlers.fetch_sessions import FetchSession, FetchSessions, Resolved
from barnabas.wire.fetch import (
    FetchPartition,
    FetchPartitionResult,
    FetchRequest,
    FetchTopic,
    FetchTopicResult,
    ForgottenTopic,
)


class Records(NamedTuple):
    size: int


def request(
    session_id: int, epoch: int, partitions: list[int], forgotten: list[int] | None = None, name: str = "t"
) -> FetchRequest:
    wanted = [FetchPartition(number, 100 + number, 1000) for number in partitions]
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1000,
        isolation_level=0,
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic(name, ZERO_UUID, wanted)] if wanted else [],
        forgotten=[ForgottenTopic(name, ZERO_UUID, forgotten)] if forgotten else [],
        rack_id="",
    )


def opened(sessions: FetchSessions, partitions: list[int]) -> FetchSession:
    resolved = sessions.resolve(request(0, 0, partitions), False)
    assert resolved.session is not None
    return resolved.session


def requested_partitions(sessions: FetchSessions, wanted: FetchRequest) -> list[int]:
    resolved = sessions.resolve(wanted, False)
    assert resolved.error is ErrorCode.none
    return [key.partition for key, _ in resolved.partitions]


def test_epoch_zero_opens_a_session_and_an_empty_request_continues_it() -> None:
    sessions = FetchSessions(10, ManualClock())
    session = opened(sessions, [0, 1])
    assert requested_partitions(sessions, request(session.id, 1, [])) == [0, 1]
    assert requested_partitions(sessions, request(session.id, 2, [])) == [0, 1]


def test_a_request_without_session_is_answered_in_full() -> None:
    sessions = FetchSessions(10, ManualClock())
    resolved = sessions.resolve(request(0, -1, [0]), False)
    assert resolved.session is None
    assert resolved.is_full
    assert len(sessions) == 0


@pytest.mark.parametrize(
    "wanted",
    [
        request(0, 0, [0, 1, 2]),
        request(0, -1, [0, 1]),
        request(5, 0, [1]),
        request(5, 1, [2, 0], forgotten=[1]),
        request(5, 1, []),
        request(5, 3, [2]),
        request(6, 1, [2]),
    ],
)
def test_long_request_is_resolved_in_steps_as_at_once(wanted: FetchRequest) -> None:
    results = []
    for is_long in (False, True):
        sessions = FetchSessions(10, ManualClock(), _Five())
        opened(sessions, [0, 1])
        resolved = _in_steps(sessions, wanted) if is_long else sessions.resolve(wanted, False)
        session = resolved.session
        known = None if session is None else (session.epoch, session.partitions)
        results.append((resolved._replace(session=None), known, len(sessions)))
    assert results[0] == results[1]


def _in_steps(sessions: FetchSessions, wanted: FetchRequest) -> Resolved:
    steps = sessions.resolve_in_steps(wanted, False)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            resolved: Resolved = end.value
            return resolved


class _Five(Random):
    """Session ids from 5 on."""

    def __init__(self) -> None:
        super().__init__()
        self._ids: Iterator[int] = itertools.count(5)

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return next(self._ids)


def test_partitions_are_added_updated_and_forgotten() -> None:
    sessions = FetchSessions(10, ManualClock())
    session = opened(sessions, [0, 1])
    assert requested_partitions(sessions, request(session.id, 1, [2], forgotten=[0])) == [1, 2]


def test_a_wrong_epoch_is_refused_and_changes_nothing() -> None:
    sessions = FetchSessions(10, ManualClock())
    session = opened(sessions, [0])
    assert sessions.resolve(request(session.id, 5, []), False).error is ErrorCode.invalid_fetch_session_epoch
    assert requested_partitions(sessions, request(session.id, 1, [])) == [0]


def test_an_unknown_session_is_refused() -> None:
    sessions = FetchSessions(10, ManualClock())
    assert sessions.resolve(request(77, 1, []), False).error is ErrorCode.fetch_session_id_not_found


def test_names_and_topic_ids_do_not_mix_in_a_session() -> None:
    sessions = FetchSessions(10, ManualClock())
    session = opened(sessions, [0])
    assert sessions.resolve(request(session.id, 1, []), True).error is ErrorCode.fetch_session_topic_id_error


def test_the_final_epoch_closes_the_session() -> None:
    sessions = FetchSessions(10, ManualClock())
    session = opened(sessions, [0])
    sessions.resolve(request(session.id, -1, []), False)
    assert len(sessions) == 0


def test_only_changes_are_sent() -> None:
    session = opened(FetchSessions(10, ManualClock()), [0, 1])
    known = [FetchPartitionResult(0, 0, 5, 5, 0), FetchPartitionResult(1, 0, 7, 7, 0)]
    assert session.filter([FetchTopicResult("t", ZERO_UUID, known)]) != []
    assert session.filter([FetchTopicResult("t", ZERO_UUID, known)]) == []
    moved = [FetchPartitionResult(0, 0, 5, 5, 0), FetchPartitionResult(1, 0, 8, 8, 0)]
    answered = session.filter([FetchTopicResult("t", ZERO_UUID, moved)])
    assert [each.partition for each in answered[0].partitions] == [1]


def test_the_end_of_an_error_is_a_change() -> None:
    session = opened(FetchSessions(10, ManualClock()), [0])
    fine = [FetchTopicResult("t", ZERO_UUID, [FetchPartitionResult(0, 0, -1, -1, -1)])]
    session.filter([FetchTopicResult("t", ZERO_UUID, [FetchPartitionResult(0, 6)])])
    assert session.filter(fine) != []
    assert session.filter(fine) == []


def test_partitions_that_returned_records_are_read_last_next_time() -> None:
    sessions = FetchSessions(10, ManualClock())
    session = opened(sessions, [0, 1, 2])
    got = [FetchPartitionResult(0, 0, 5, 5, 0, None, Records(10)), FetchPartitionResult(1, 0, 5, 5, 0)]
    session.filter([FetchTopicResult("t", ZERO_UUID, got)])
    assert requested_partitions(sessions, request(session.id, 1, [])) == [1, 2, 0]


def test_sessions_by_topic_id_are_found_by_id() -> None:
    topic_id = UUID(int=7)
    wanted = request(0, 0, [0])._replace(topics=[FetchTopic("", topic_id, [FetchPartition(0, 0, 10)])])
    resolved = FetchSessions(10, ManualClock()).resolve(wanted, True)
    assert resolved.session is not None
    results = [FetchTopicResult("", topic_id, [FetchPartitionResult(0, 0, 1, 1, 0)])]
    resolved.session.filter(results)
    assert resolved.session.filter(results) == []


def test_a_full_cache_evicts_the_stale_then_the_smaller_and_else_refuses() -> None:
    clock = ManualClock()
    sessions = FetchSessions(1, clock)
    small = opened(sessions, [0])
    assert sessions.resolve(request(0, 0, [5]), False).session is None
    larger = opened(sessions, [0, 1])
    assert sessions.resolve(request(small.id, 1, []), False).error is ErrorCode.fetch_session_id_not_found
    clock.advance(121_000)
    newest = opened(sessions, [3])
    assert sessions.resolve(request(larger.id, 1, []), False).error is ErrorCode.fetch_session_id_not_found
    assert len(sessions) == 1
    assert requested_partitions(sessions, request(newest.id, 1, [])) == [3]


def test_no_slots_means_no_sessions() -> None:
    assert FetchSessions(0, ManualClock()).resolve(request(0, 0, [0]), False).session is None


def test_partition_that_is_named_often_is_read_once_and_the_last_mention_counts() -> None:
    sessions = FetchSessions(10, ManualClock())
    many = request(0, -1, [1, 0, *[1] * 1000])
    last = FetchPartition(1, 77, 1000)
    many.topics[0].partitions.append(last)
    resolved = sessions.resolve(many, False)
    assert [key.partition for key, _ in resolved.partitions] == [1, 0]
    assert resolved.partitions[0][1] == last


def test_topic_that_is_named_twice_is_read_once() -> None:
    twice = request(0, -1, [0, 1])
    twice.topics.append(FetchTopic("t", ZERO_UUID, [FetchPartition(1, 5, 1000), FetchPartition(2, 5, 1000)]))
    resolved = FetchSessions(10, ManualClock()).resolve(twice, False)
    assert [(key.partition, wanted.offset) for key, wanted in resolved.partitions] == [
        (0, 100),
        (1, 5),
        (2, 5),
    ]
