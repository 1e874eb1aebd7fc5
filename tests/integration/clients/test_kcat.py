"""kcat as people type it in a shell."""

import json

import pytest
from tests.integration.clients.drivers.kcat import KcatDriver
from tests.integration.clients.messages import Message, Settings

from barnabas.testing import Broker

pytestmark = pytest.mark.needs("kcat")


@pytest.fixture
def kcat(kafka_broker: Broker) -> KcatDriver:
    return KcatDriver(kafka_broker.bootstrap_servers, Settings())


@pytest.mark.kafka_topic(partitions=2)
def test_list(kafka_broker: Broker, kafka_topic: str, kcat: KcatDriver) -> None:
    listed = json.loads(kcat.run("-L", "-J", "-t", kafka_topic))
    (broker,) = listed["brokers"]
    assert broker["name"] == kafka_broker.bootstrap_servers
    assert listed["controllerid"] == broker["id"]
    (topic,) = listed["topics"]
    assert topic["topic"] == kafka_topic
    assert [(each["partition"], each["leader"]) for each in topic["partitions"]] == [
        (0, broker["id"]),
        (1, broker["id"]),
    ]


@pytest.mark.kafka_topic(partitions=3)
def test_lines_in_and_lines_out(kafka_topic: str, kcat: KcatDriver) -> None:
    lines = [f"{number}:line {number}" for number in range(100)]
    kcat.run("-P", "-t", kafka_topic, "-K:", stdin="\n".join(lines).encode())
    printed = kcat.run("-C", "-t", kafka_topic, "-e", "-K:", "-o", "beginning").decode()
    assert sorted(printed.splitlines()) == sorted(lines)


@pytest.mark.parametrize(
    ("where", "expected"), [("beginning", "0 1 2 3 4"), ("-2", "3 4"), ("1", "1 2 3 4"), ("end", "")]
)
def test_offsets_from_both_ends(kafka_topic: str, kcat: KcatDriver, where: str, expected: str) -> None:
    kcat.run("-P", "-t", kafka_topic, stdin=b"0\n1\n2\n3\n4")
    printed = kcat.run("-C", "-t", kafka_topic, "-p", "0", "-e", "-o", where).decode()
    assert printed.split() == expected.split()


def test_range_of_time(kafka_topic: str, kcat: KcatDriver) -> None:
    """`s@...` to `e@...`: both ends are looked up by ListOffsets."""
    kcat.produce(kafka_topic, [Message(b"k", b"%d" % number) for number in range(5)])
    times = [message.timestamp for message in kcat.consume(kafka_topic, 5)]
    span = ("-o", f"s@{times[0]}", "-o", f"e@{times[-1] + 1}")
    printed = kcat.run("-C", "-t", kafka_topic, "-e", *span, "-f", "%s ").decode()
    assert printed.split() == ["0", "1", "2", "3", "4"]


def test_format_shows_what_a_record_carries(kafka_topic: str, kcat: KcatDriver) -> None:
    kcat.produce(kafka_topic, [Message(b"key", b"value", (("h", b"1"),)), Message(None, None)])
    printed = kcat.run("-C", "-t", kafka_topic, "-e", "-f", "%p %o %K %k %S %s %h\\n").decode()
    assert printed.splitlines() == ["0 0 3 key 5 value h=1", "0 1 -1  -1  "]
