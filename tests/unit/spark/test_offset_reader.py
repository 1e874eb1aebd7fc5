"""The driver's requests, to a cluster that responds as a test says."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import SimpleNamespace
from uuid import UUID

import pytest

from barnabas.client.admin.offsets import EARLIEST, READ_COMMITTED, READ_UNCOMMITTED, ListedOffset
from barnabas.client.errors import BrokerError, ClientError, TimedOut, Unreachable
from barnabas.spark import offset_reader
from barnabas.spark.offset_reader import OffsetReader
from barnabas.spark.planning import Offsets, TopicPartition
from barnabas.spark.planning.options import SourceOptions

UNKNOWN, NOT_LEADER, REFUSED = 3, 6, 29
A, B = ("t", 0), ("t", 1)


class _Cluster:
    def __init__(self) -> None:
        self.topics: dict[str, int] = {"t": 2}
        self.topic_id: UUID | None = UUID(int=7)
        self.ends: list[Offsets] = [{A: 10, B: 5}]
        self.troubles: list[ClientError] = []
        self.metadata_requests: int = 0
        self.isolations: list[int] = []

    def metadata(self, wanted: Sequence[str] | None) -> SimpleNamespace:
        self.metadata_requests += 1
        self._maybe_fail()
        return SimpleNamespace(topics=[self._topic(name) for name in wanted or self.topics])

    def _topic(self, name: str) -> SimpleNamespace:
        count = self.topics.get(name)
        code = UNKNOWN if count is None else 0
        return SimpleNamespace(
            name=name,
            error_code=code,
            partitions=[None] * (count or 0),
            is_internal=False,
            topic_id=self.topic_id,
        )

    def forget(self) -> None:
        pass

    def _maybe_fail(self) -> None:
        if self.troubles:
            raise self.troubles.pop(0)

    def list_offsets(
        self, _: object, wanted: Mapping[TopicPartition, int], *, isolation: int = READ_UNCOMMITTED
    ) -> dict[TopicPartition, ListedOffset | BrokerError]:
        self._maybe_fail()
        self.isolations.append(isolation)
        ends = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        return {
            topic_partition: self._offset(topic_partition, time, ends)
            for topic_partition, time in wanted.items()
        }

    def _offset(
        self, topic_partition: TopicPartition, time: int, ends: Offsets
    ) -> ListedOffset | BrokerError:
        if topic_partition not in ends:
            return BrokerError(UNKNOWN)
        return ListedOffset(0 if time == EARLIEST else ends[topic_partition], -1, -1)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Cluster]:
    fake = _Cluster()
    monkeypatch.setattr(offset_reader, "cluster_for", lambda _: fake)
    monkeypatch.setattr(offset_reader, "list_offsets", fake.list_offsets)
    yield fake
    assert not fake.troubles


def _reader(**options: str) -> OffsetReader:
    given = {
        "kafka.bootstrap.servers": "nowhere:1",
        "subscribe": "t",
        "fetchOffset.retryIntervalMs": "1",
        **options,
    }
    return OffsetReader(SourceOptions.of_stream(given))


def test_request_to_an_unavailable_cluster_is_retried(cluster: _Cluster) -> None:
    cluster.troubles = [Unreachable("x"), TimedOut("y"), BrokerError(NOT_LEADER), Unreachable("z")]
    assert _reader(**{"fetchOffset.numRetries": "1"}).latest({}) == {A: 10, B: 5}


def test_error_that_is_not_retriable_is_retried_as_often_as_the_option_says(cluster: _Cluster) -> None:
    cluster.troubles = [BrokerError(REFUSED), BrokerError(REFUSED)]
    with pytest.raises(BrokerError, match="authoriz"):
        _reader(**{"fetchOffset.numRetries": "2"}).latest({})


def test_patience_has_an_end(cluster: _Cluster) -> None:
    cluster.troubles = [Unreachable(str(number)) for number in range(3)]
    with pytest.raises(Unreachable, match="2"):
        _reader(**{"kafka.default.api.timeout.ms": "1", "fetchOffset.retryIntervalMs": "2"}).latest({})


def test_a_topic_that_never_was_is_an_error_and_one_that_was_is_left_out(cluster: _Cluster) -> None:
    cluster.topics = {}
    with pytest.raises(BrokerError, match="Topic t: "):
        _reader().partitions()
    assert _reader().latest({A: 3}) == {}


@pytest.mark.parametrize(
    ("given", "known"), [(UUID(int=7), {"t": "AAAAAAAAAAAAAAAAAAAABw"}), (UUID(int=0), {}), (None, {})]
)
def test_ids_of_topics_are_known_where_brokers_have_them(
    cluster: _Cluster, given: UUID | None, known: dict[str, str]
) -> None:
    cluster.topic_id = given
    reader = _reader()
    reader.latest({})
    assert reader.topic_ids == known


def test_an_end_before_what_was_read_is_requested_again(cluster: _Cluster) -> None:
    cluster.ends = [{A: 3, B: 5}, {A: 12, B: 5}, {A: 99, B: 99}]
    assert _reader().latest({A: 10, B: 5}) == {A: 12, B: 5}
    cluster.ends = [{A: 3, B: 5}]
    assert _reader().latest({A: 10, B: 5}) == {A: 3, B: 5}


def test_beginnings_are_of_partitions_that_still_exist(cluster: _Cluster) -> None:
    cluster.ends = [{A: 10}]
    assert _reader().earliest({A, B}) == {A: 0}
    assert _reader().earliest([]) == {}


@pytest.mark.parametrize(("ttl", "requests"), [("-1", 3), ("60000", 1)])
def test_partitions_are_kept_for_as_long_as_the_option_says(
    cluster: _Cluster, ttl: str, requests: int
) -> None:
    reader = _reader(**{"partition.metadata.cache.ttl.ms": ttl})
    for _ in range(3):
        reader.latest({})
    assert cluster.metadata_requests == requests


@pytest.mark.parametrize(
    ("level", "isolation"), [("read_committed", READ_COMMITTED), ("read_uncommitted", READ_UNCOMMITTED)]
)
def test_ends_are_those_of_the_isolation_level(cluster: _Cluster, level: str, isolation: int) -> None:
    _reader(**{"kafka.isolation.level": level}).latest({})
    assert cluster.isolations == [isolation]


def test_a_new_query_begins_where_the_option_says(cluster: _Cluster) -> None:
    def initial(text: str) -> Collection[tuple[TopicPartition, int]]:
        return sorted(_reader(startingOffsets=text).initial().items())

    assert initial("earliest") == [(A, 0), (B, 0)]
    assert initial("latest") == [(A, 10), (B, 5)]
    assert initial('{"t":{"0":7,"1":-1}}') == [(A, 7), (B, 5)]
