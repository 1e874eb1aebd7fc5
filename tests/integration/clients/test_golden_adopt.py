"""A copy of Apache Kafka's log directory, adopted: every record is served as Kafka's dump tool prints it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.integration.clients.clients import every_client
from tests.integration.clients.drivers import Driver
from tests.integration.clients.golden_log_dir import GOLDEN, adopt
from tests.integration.clients.messages import Message, Settings
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import EARLIEST, batch, end_offset, fetch, list_offset, produce

from barnabas.testing import Broker

OpenDriver = Callable[..., Driver]
_PARTITIONS = sorted(path.name for path in (GOLDEN / "log-dir").iterdir() if path.is_dir())
_RECORD = re.compile(
    r"\| offset: (?P<offset>\d+) (?:Create|LogAppend)Time: (?P<timestamp>-?\d+) "
    r".* headerKeys: \[(?P<headers>[^]]*)\]"
    r"(?P<marker> endTxnMarker: \w+)?.*?(?: key: (?P<key>\S*))?(?: payload: (?P<value>.*))?$"
)


@dataclass(frozen=True, slots=True)
class Printed:
    """A record as the dump tool prints it."""

    offset: int
    timestamp: int
    headers: str
    key: str | None
    value: str | None


def _printed(partition: str) -> list[Printed]:
    """The records of a partition, without the markers of transactions."""
    records: list[Printed] = []
    for dump in sorted((GOLDEN / "dumps").glob(f"{partition}_*.log.txt")):
        for line in dump.read_text().splitlines():
            found = _RECORD.match(line)
            if found is None or found["marker"] is not None:
                continue
            numbers = int(found["offset"]), int(found["timestamp"])
            records.append(Printed(*numbers, found["headers"], found["key"], found["value"]))
    return records


def _as_printed(message: Message) -> Printed:
    names = ",".join(name for name, _ in message.headers)
    key = None if message.key is None else message.key.decode()
    value = None if message.value is None else message.value.decode()
    return Printed(message.offset, message.timestamp, names, key, value)


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Shared by the tests that only read."""
    with adopt(tmp_path_factory.mktemp("adopted")) as broker:
        yield broker


def _split(partition: str) -> tuple[str, int]:
    topic, _, number = partition.rpartition("-")
    return topic, int(number)


def test_all_topics_are_there(adopted: Broker) -> None:
    assert adopted.topics() == {_split(partition)[0] for partition in _PARTITIONS}


@pytest.mark.parametrize("partition", _PARTITIONS)
def test_stored_bytes_are_served_unchanged(adopted: Broker, partition: str) -> None:
    topic, number = _split(partition)
    stored = b"".join(path.read_bytes() for path in sorted((GOLDEN / "log-dir" / partition).glob("*.log")))
    served = b""
    with RawClient(adopted.port) as client:
        offset, end = (
            list_offset(client, topic, EARLIEST, partition=number).offset,
            end_offset(client, topic, number),
        )
        while len(served) < len(stored):
            records = fetch(client, topic, offset, partition=number).records
            assert records, f"nothing at offset {offset} before the end {end}"
            served += records
            offset = _next_offset(records)
    assert served == stored
    assert offset == end


def _next_offset(records: bytes) -> int:
    from barnabas.records.batch import iter_headers

    return max(header.next_offset for _, header in iter_headers(records))


@every_client
@pytest.mark.parametrize("partition", [each for each in _PARTITIONS if not each.startswith(("__", "rolled"))])
def test_records_are_those_of_the_dump(
    adopted: Broker, open_driver: OpenDriver, client: str, partition: str
) -> None:
    expected = _printed(partition)
    assert expected
    topic, number = _split(partition)
    driver = open_driver(client, broker=adopted)
    received = driver.consume(topic, len(expected), partition=number)
    assert [_as_printed(message) for message in received] == expected


@every_client
def test_only_committed_records_are_read_by_those_who_ask_for_them(
    adopted: Broker, open_driver: OpenDriver, client: str
) -> None:
    expected = [record for record in _printed("txn-0") if record.key in ("r0", "r2")]
    assert len(expected) == 6
    driver = open_driver(client, Settings(reads_committed=True), broker=adopted)
    assert [_as_printed(message) for message in driver.consume("txn", 6)] == expected


@pytest.mark.needs("confluent_kafka")
def test_rolled_partition_is_read_from_every_segment(adopted: Broker, open_driver: OpenDriver) -> None:
    driver = open_driver("confluent", broker=adopted)
    for offset in (0, 1319, 1320, 2640, 2641, 2999):
        (message,) = driver.consume("rolled", 1, offset=offset)
        assert message.offset == offset
    received = driver.consume("rolled", 3000)
    assert [message.offset for message in received] == list(range(3000))


@pytest.mark.needs("confluent_kafka")
def test_times_are_found_with_kafkas_indexes(adopted: Broker, open_driver: OpenDriver) -> None:
    driver = open_driver("confluent", broker=adopted)
    messages = driver.consume("rolled", 3000)
    for index in (0, 5, 1319, 1320, 1999, 2641, 2999):
        first = next(each for each in messages if each.timestamp >= messages[index].timestamp)
        assert driver.offset_for_time("rolled", 0, messages[index].timestamp) == first.offset


def test_adopted_partition_goes_on_where_it_ended(tmp_path: Path) -> None:
    with adopt(tmp_path) as broker:
        with RawClient(broker.port) as client:
            end = end_offset(client, "plain")
            assert produce(client, "plain", batch(b"more")).base_offset == end
            stored = fetch(client, "plain", end).records
        broker.restart()
        with RawClient(broker.port) as client:
            assert fetch(client, "plain", end).records == stored
            assert end_offset(client, "plain") == end + 1
