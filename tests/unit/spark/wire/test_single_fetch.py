from uuid import UUID

from barnabas.spark.wire.single_fetch import FetchTarget, parse_fetched, single_fetch_request
from barnabas.wire.fetch import FetchPartitionResult, FetchTopicResult, encode_fetch_response, parse_fetch

TOPIC_ID = UUID(int=7)
TARGET = FetchTarget("t", TOPIC_ID, 3, 2**40, 1, 500, 1, 8 << 20, 4 << 20, "rack-a")


def _body(topics: list[FetchTopicResult], error_code: int = 0, throttle_ms: int = 0) -> memoryview:
    parts = encode_fetch_response(17, 1, topics, error_code=error_code, throttle_ms=throttle_ms)
    return memoryview(b"".join(parts)[9:])


def test_request_names_one_partition_and_opens_no_session() -> None:
    request = parse_fetch(17, memoryview(b"".join(single_fetch_request(17, TARGET).parts)), 0)
    assert (request.replica_id, request.session_id, request.session_epoch) == (-1, 0, -1)
    assert [(topic.topic_id, topic.partitions[0][:3]) for topic in request.topics] == [
        (TOPIC_ID, (3, 2**40, 4 << 20))
    ]


def test_error_of_the_whole_response_is_the_error_of_the_partition() -> None:
    fetched = parse_fetched(17, _body([], error_code=70, throttle_ms=4))
    assert (fetched.partition.error_code, fetched.throttle_ms) == (70, 4)


def test_partition_that_is_left_out_has_no_records_and_no_error() -> None:
    fetched = parse_fetched(17, _body([]))
    assert (fetched.partition.error_code, len(fetched.partition.records)) == (0, 0)


def test_partition_is_taken_from_the_response() -> None:
    result = FetchPartitionResult(3, 0, 10, 9, 1, records=b"records")
    fetched = parse_fetched(17, _body([FetchTopicResult("", TOPIC_ID, [result])]))
    assert bytes(fetched.partition.records) == b"records"
    assert fetched.partition.high_watermark == 10
