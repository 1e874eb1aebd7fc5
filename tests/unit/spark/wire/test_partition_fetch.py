import pickle
import time
import uuid
from itertools import pairwise
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.unit.spark.wire.log_broker import Log, LogBroker, Lose, Refuse

from barnabas.client.errors import BrokerError, ClientError, Unreachable
from barnabas.records.batch import parse_header
from barnabas.records.record import Record, decode_records
from barnabas.spark.wire.errors import NothingArrives, OffsetOutOfRange, TopicRecreated
from barnabas.spark.wire.partition_fetch import FetchedChunk, FetchSettings, PartitionFetcher

NOT_LEADER, CORRUPT, UNAUTHORIZED, UNKNOWN_TOPIC_ID, UNEXPECTED = 6, 2, 29, 100, -1


def filled(batches: int = 20, size: int = 5) -> Log:
    log = Log()
    for first in range(0, batches * size, size):
        log.put([Record(0, 1000, None, b"%d" % number) for number in range(first, first + size)])
    return log


def quick(**changed: Any) -> FetchSettings:
    given: dict[str, Any] = {
        "retry_backoff": 0.001,
        "poll_timeout": PATIENCE,
        "partition_max_bytes": 300,
        **changed,
    }
    return FetchSettings(**given)


def values(chunks: list[FetchedChunk]) -> list[bytes | None]:
    found = []
    for chunk in chunks:
        records = bytes(chunk.records)
        while records:
            size = parse_header(records).size
            found += [record.value for record in decode_records(records[:size])]
            records = records[size:]
    return found


def read(broker: LogBroker, start: int = 0, stop: int = 100, **changed: Any) -> list[bytes | None]:
    with broker.cluster() as cluster:
        fetcher = PartitionFetcher(cluster, "t", 0, quick(**changed))
        return values(list(fetcher.chunks(start, stop)))


ALL = [b"%d" % number for number in range(100)]


def test_range_is_read_whole() -> None:
    with LogBroker(logs=[filled()]) as broker:
        assert read(broker) == ALL
        assert len(broker.fetched_offsets) > 3


@pytest.mark.parametrize("version", [4, 7, 11, 12, 13, 17])
def test_old_and_new_brokers_are_spoken_to(version: int) -> None:
    with LogBroker(logs=[filled()], versions={"fetch": version, "produce": 3}) as broker:
        assert read(broker) == ALL


def test_answers_that_come_byte_by_byte_are_put_together() -> None:
    with LogBroker(logs=[filled(4)], torn=True) as broker:
        assert read(broker, 0, 20) == ALL[:20]


def test_chunks_begin_and_end_with_whole_batches() -> None:
    with LogBroker(logs=[filled()]) as broker:
        assert read(broker, 13, 17) == ALL[10:20]


def test_chunks_state_where_they_end() -> None:
    with LogBroker(logs=[filled()]) as broker, broker.cluster() as cluster:
        chunks = list(PartitionFetcher(cluster, "t", 0, quick()).chunks(0, 100))
        for chunk, following in pairwise(chunks):
            assert parse_header(following.records).base_offset == chunk.next_offset
        assert chunks[-1].next_offset == 100
        assert chunks[-1].high_watermark == 100


def test_batch_cut_at_the_end_of_an_answer_is_left_for_the_next() -> None:
    with LogBroker(logs=[filled()]) as broker:
        log = broker.logs[0]
        whole = log.read
        log.read = lambda offset, most: whole(offset, most)[: most + 20]  # type: ignore[method-assign]
        assert read(broker, partition_max_bytes=400) == ALL


def test_next_chunk_is_requested_before_the_caller_is_done_with_this_one() -> None:
    with LogBroker(logs=[filled()]) as broker, broker.cluster() as cluster:
        chunks = PartitionFetcher(cluster, "t", 0, quick()).chunks(0, 100)
        first = next(chunks)
        deadline = time.monotonic() + PATIENCE
        while len(broker.fetched_offsets) < 2 and time.monotonic() < deadline:
            time.sleep(0.001)
        assert broker.fetched_offsets == [0, first.next_offset]
        chunks.close()  # type: ignore[attr-defined]


def test_nothing_is_requested_ahead_behind_the_end() -> None:
    with LogBroker(logs=[filled()]) as broker:
        read(broker)
        assert max(broker.fetched_offsets) < 100


def test_reader_that_stops_early_leaves_no_answer_for_the_next_one() -> None:
    with LogBroker(logs=[filled()]) as broker, broker.cluster() as cluster:
        fetcher = PartitionFetcher(cluster, "t", 0, quick())
        for _ in range(3):
            chunks = fetcher.chunks(0, 100)
            assert values([next(chunks)])[0] == b"0"
            chunks.close()  # type: ignore[attr-defined]
        assert values(list(fetcher.chunks(50, 100))) == ALL[50:]


def test_connection_is_used_again_by_the_next_reader() -> None:
    with LogBroker(logs=[filled()]) as broker, broker.cluster() as cluster:
        for _ in range(3):
            list(PartitionFetcher(cluster, "t", 0, quick()).chunks(0, 100))
        assert broker.script.connections == 2


def test_records_stay_as_they_are_while_later_ones_come() -> None:
    log = Log()
    for number in range(8):
        log.put([Record(0, 1000, None, b"%d" % number + b"x" * 200_000)])
    with LogBroker(logs=[log]) as broker, broker.cluster() as cluster:
        fetcher = PartitionFetcher(cluster, "t", 0, quick(partition_max_bytes=250_000))
        kept = list(fetcher.chunks(0, 8))
        assert [value[:1] for value in values(kept) if value] == [b"%d" % number for number in range(8)]


@pytest.mark.parametrize(
    "fault",
    [Lose.REQUEST, Refuse(NOT_LEADER), Refuse(UNKNOWN_TOPIC_ID), Refuse(UNEXPECTED), Refuse(75), Refuse(78)],
)
def test_retriable_error_costs_only_time(fault: Any) -> None:
    with LogBroker(logs=[filled()], fetch_faults=[fault, None, None, fault, fault, None, fault]) as broker:
        assert read(broker) == ALL


@pytest.mark.parametrize("code", [CORRUPT, UNAUTHORIZED])
def test_error_that_is_not_retriable_is_raised_at_once(code: int) -> None:
    with LogBroker(logs=[filled()], fetch_faults=[None, Refuse(code)]) as broker:
        with pytest.raises(BrokerError, match=r"^t-0: ") as failure:
            read(broker)
        assert failure.value.code == code
        assert len(broker.fetched_offsets) <= 3


def test_failure_that_stays_is_raised_after_the_poll_timeout() -> None:
    with LogBroker(logs=[filled()], fetch_faults=[Refuse(NOT_LEADER)] * 1000) as broker:
        with pytest.raises(BrokerError) as failure:
            read(broker, poll_timeout=0.1)
        assert failure.value.code == NOT_LEADER


def test_broker_that_always_hangs_up_is_given_up() -> None:
    with LogBroker(logs=[filled()], fetch_faults=[Lose.REQUEST] * 1000) as broker, pytest.raises(Unreachable):
        read(broker, poll_timeout=0.1)


def test_offset_out_of_range_names_the_range() -> None:
    with LogBroker(logs=[filled()]) as broker:
        broker.logs[0].start = 30
        with pytest.raises(OffsetOutOfRange, match="begins at 30 and ends at 100") as failure:
            read(broker, 10)
        assert (failure.value.requested, failure.value.log_start, failure.value.end) == (10, 30, 100)


def test_request_to_a_leader_that_does_not_know_its_end_is_retried() -> None:
    with LogBroker(logs=[filled()], fetch_faults=[Refuse(1), Refuse(1)]) as broker:
        assert read(broker) == ALL


def test_partition_that_moves_is_followed() -> None:
    with (
        LogBroker(logs=[filled()], fetch_faults=[None, *[Refuse(NOT_LEADER)] * 9]) as old,
        LogBroker(logs=old.logs) as new,
        old.cluster() as cluster,
    ):
        old.nodes[2] = new.script.port
        chunks = PartitionFetcher(cluster, "t", 0, quick()).chunks(0, 100)
        first = next(chunks)
        old.leader = 2
        assert values([first, *chunks]) == ALL
        assert new.fetched_offsets


def test_replica_that_is_closer_is_read_from() -> None:
    with (
        LogBroker(logs=[filled()]) as leader,
        LogBroker(logs=leader.logs) as follower,
        leader.cluster() as cluster,
    ):
        leader.nodes[2] = follower.script.port
        leader.preferred = 2
        fetcher = PartitionFetcher(cluster, "t", 0, quick(rack="here"))
        assert values(list(fetcher.chunks(0, 100))) == ALL
        assert leader.fetched_offsets == [0]
        assert leader.requests("Fetch")[0].rack_id == "here"


def test_follower_that_lacks_the_offset_sends_back_to_the_leader() -> None:
    with (
        LogBroker(logs=[filled()]) as leader,
        LogBroker(fetch_faults=[Refuse(1)] * 9) as follower,
        leader.cluster() as cluster,
    ):
        leader.nodes[2] = follower.script.port
        leader.preferred = 2
        chunks = PartitionFetcher(cluster, "t", 0, quick()).chunks(0, 100)
        original = follower._fetch

        def once(request: Any) -> Any:
            leader.preferred = -1
            return original(request)

        follower.script._answers["fetch"] = once
        assert values(list(chunks)) == ALL


def test_topic_created_again_is_not_taken_for_the_old_one() -> None:
    with LogBroker(logs=[filled()]) as broker, broker.cluster() as cluster:
        chunks = PartitionFetcher(cluster, "t", 0, quick()).chunks(0, 100)
        next(chunks)
        broker.topic_id = uuid.UUID(int=78)
        broker.fetch_faults.extend([Refuse(UNKNOWN_TOPIC_ID)] * 9)
        with pytest.raises(TopicRecreated, match=r"its id was A+TQ and is A+Tg now") as found:
            list(chunks)
        assert pickle.loads(pickle.dumps(found.value)).new_id == uuid.UUID(int=78)


def test_topic_of_another_id_is_never_read() -> None:
    with LogBroker(logs=[filled()]) as broker, broker.cluster() as cluster:
        fetcher = PartitionFetcher(cluster, "t", 0, quick(), uuid.UUID(int=76))
        with pytest.raises(TopicRecreated):
            next(fetcher.chunks(0, 100))
        assert broker.fetched_offsets == []


def test_broker_without_topic_ids_is_read_whatever_id_is_expected() -> None:
    with (
        LogBroker(logs=[filled()], versions={"metadata": 9, "fetch": 12}) as broker,
        broker.cluster() as cluster,
    ):
        fetcher = PartitionFetcher(cluster, "t", 0, quick(), uuid.UUID(int=76))
        assert values(list(fetcher.chunks(0, 100))) == ALL


def policy(value: str | None, error: int = 0) -> dict[str, Any]:
    """DescribeConfigs, answered with this `cleanup.policy`."""
    configs = [] if value is None else [{"name": "cleanup.policy", "value": value, "synonyms": []}]
    result = {"error_code": error, "resource_type": 2, "resource_name": "t", "configs": configs}
    return {"describe_configs": {"results": [result]}}


@pytest.mark.parametrize("value", ["compact", "compact,delete", "delete, compact"])
def test_compacted_log_without_records_up_to_its_end_is_read_to_the_end(value: str) -> None:
    log = filled(2)
    log.end = 40
    with LogBroker(logs=[log], answers=policy(value)) as broker, broker.cluster() as cluster:
        chunks = list(PartitionFetcher(cluster, "t", 0, quick()).chunks(0, 40))
        assert values(chunks) == ALL[:10]
        assert chunks[-1].next_offset == 40


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (policy("delete"), r"the topic is not compacted \(cleanup\.policy=delete\)"),
        (policy(None), r"compacted is unknown: .* does not describe cleanup\.policy"),
        (policy(None, error=UNAUTHORIZED), "compacted is unknown: "),
    ],
)
def test_records_that_a_broker_withholds_are_never_passed_over(answers: dict[str, Any], reason: str) -> None:
    """A slow tiered read of Apache Kafka: no error, no records, a high watermark behind the range."""
    log = filled()
    log.read = lambda offset, most: b""  # type: ignore[method-assign]
    with (
        LogBroker(logs=[log], answers=answers) as broker,
        pytest.raises(NothingArrives, match=rf"Cannot fetch record for offset 0 of t-0 in 500 .*{reason}"),
    ):
        read(broker, poll_timeout=0.5)


def test_compacted_offsets_in_tiered_storage_are_never_passed_over() -> None:
    log = filled()
    log.read = lambda offset, most: b""  # type: ignore[method-assign]
    log.local_start = 60
    given: dict[str, Any] = {"answers": policy("compact"), "versions": {"list_offsets": 8}}
    with LogBroker(logs=[log], **given) as broker:
        with pytest.raises(NothingArrives, match="offsets below 60 from tiered storage"):
            read(broker, poll_timeout=0.5)
        assert read(broker, 60) == []


def test_compacted_tail_is_inspected_again_if_the_request_failed() -> None:
    log = filled(2)
    log.end = 40
    answers = iter([policy(None, error=UNEXPECTED), policy(None, error=UNEXPECTED)])

    def described(_: object) -> Any:
        return next(answers, policy("compact"))["describe_configs"]

    with LogBroker(logs=[log], answers={"describe_configs": described}) as broker:
        assert read(broker, 0, 40) == ALL[:10]


def test_records_that_a_broker_sends_late_are_read() -> None:
    log = filled()
    whole, empty = log.read, iter(range(8))
    log.read = lambda offset, most: b"" if next(empty, None) is not None else whole(offset, most)  # type: ignore[method-assign]
    with LogBroker(logs=[log], answers=policy("delete")) as broker:
        assert read(broker) == ALL


def test_broker_without_records_is_not_polled_in_a_busy_loop() -> None:
    log = filled()
    log.read = lambda offset, most: b""  # type: ignore[method-assign]
    with LogBroker(logs=[log], answers=policy("delete")) as broker:
        with pytest.raises(NothingArrives):
            read(broker, poll_timeout=0.5, retry_backoff=0.1)
        assert len(broker.fetched_offsets) < 10


def test_end_that_is_never_reached_is_an_error() -> None:
    with (
        LogBroker(logs=[filled(2)]) as broker,
        pytest.raises(NothingArrives, match=r"Cannot fetch record for offset 10 of t-0 in 500 milliseconds"),
    ):
        read(broker, 0, 40, poll_timeout=0.5)


def test_records_that_come_later_are_waited_for() -> None:
    with LogBroker(logs=[filled(2)]) as broker, broker.cluster() as cluster:
        chunks = PartitionFetcher(cluster, "t", 0, quick()).chunks(0, 15)
        assert values([next(chunks)]) == ALL[:10]
        broker.logs[0].put([Record(0, 1000, None, b"%d" % number) for number in range(10, 15)])
        assert values(list(chunks)) == ALL[10:15]


def test_topic_that_is_not_there_is_an_error() -> None:
    with LogBroker() as broker:
        broker.topic_errors.extend([3] * 1000)
        with pytest.raises(ClientError, match="There is no topic t"):
            read(broker, poll_timeout=0.05)
        assert not broker.was_creating


def test_empty_range_sends_no_request() -> None:
    with LogBroker(logs=[filled()]) as broker:
        assert read(broker, 10, 10) == []
        assert broker.script.connections == 0
