"""Kafka Streams with exactly_once_v2: every word is counted once, whatever stops in between.

The application has two halves with a topic between them, and a store with a changelog; it reads, writes both
and commits its offsets in one transaction.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.integration.clients.drivers import Driver
from tests.integration.clients.drivers.member import until
from tests.integration.clients.drivers.word_count import WordCount
from tests.integration.clients.messages import Settings
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import EARLIEST, list_offset
from tests.integration.clients.spoken_words import PARTITIONS, Speaker, counts_of
from tests.integration.clients.topic_configs import topic_configs
from tests.integration.clients.transactions import log_end, texts

from barnabas.testing import Broker

pytestmark = [pytest.mark.needs("java", "javac", "maven", "confluent_kafka")]
OpenDriver = Callable[..., Driver]
StartApplication = Callable[[], WordCount]
_SECONDS = 60.0
"""Until an application runs, or another one has taken over the work of a killed one."""


@pytest.fixture
def output(kafka_broker: Broker, kafka_topic: str) -> str:
    """The topic of the counts: one partition, so that all of them are in order."""
    name = f"{kafka_topic}-output"
    kafka_broker.create_topic(name)
    return name


@pytest.fixture
def application_id(kafka_topic: str) -> str:
    return f"count-{kafka_topic[-8:]}"


@pytest.fixture
def start_application(
    kafka_broker: Broker,
    kafka_topic: str,
    output: str,
    application_id: str,
    jars: Path,
    java_classes: Path,
    tmp_path: Path,
) -> Iterator[StartApplication]:
    with ExitStack() as stack:
        directories = (tmp_path / f"state-{number}" for number in range(100))

        def start() -> WordCount:
            where = (kafka_broker.bootstrap_servers, application_id, kafka_topic, output)
            return stack.enter_context(WordCount(jars, java_classes, *where, directory=next(directories)))

        yield start


@pytest.mark.parametrize(
    "happenings",
    [
        pytest.param(["broker restarts"], id="broker restarts"),
        pytest.param(["broker is killed"] * 6, id="broker is killed", marks=pytest.mark.soak),
        pytest.param(["application is killed"] * 3, id="application is killed", marks=pytest.mark.soak),
        pytest.param(
            ["application is killed", "broker is killed", "both are killed"] * 2,
            id="all are killed",
            marks=pytest.mark.soak,
        ),
    ],
)
@pytest.mark.kafka_topic(partitions=PARTITIONS)
def test_words_are_counted_once(
    kafka_broker: Broker,
    kafka_topic: str,
    output: str,
    start_application: StartApplication,
    open_driver: OpenDriver,
    happenings: list[str],
) -> None:
    application = start_application()
    with Speaker(open_driver("confluent", Settings(is_idempotent=True)), kafka_topic) as speaker:
        for happening in happenings:
            _wait_for_more(kafka_broker, output)
            if happening == "broker restarts":
                kafka_broker.restart()
                continue
            if happening != "application is killed":
                kafka_broker.kill()
            if happening != "broker is killed":
                application.kill()
                application = start_application()
            kafka_broker.start()
        _wait_for_more(kafka_broker, output)
    assert _all_counts(open_driver, application, output, speaker) == speaker.counts


@pytest.mark.soak
@pytest.mark.kafka_topic(partitions=PARTITIONS)
def test_words_are_counted_once_by_two_applications_of_which_one_is_killed(
    kafka_broker: Broker,
    kafka_topic: str,
    output: str,
    start_application: StartApplication,
    open_driver: OpenDriver,
) -> None:
    applications = [start_application(), start_application()]
    with Speaker(open_driver("confluent", Settings(is_idempotent=True)), kafka_topic) as speaker:
        for _ in range(3):
            until(lambda: all(each.is_running for each in applications), seconds=_SECONDS)
            _wait_for_more(kafka_broker, output)
            applications.pop(0).kill()
            kafka_broker.kill()
            kafka_broker.start()
            applications.append(start_application())
        _wait_for_more(kafka_broker, output)
    applications.pop(0).close()
    assert _all_counts(open_driver, applications[0], output, speaker) == speaker.counts


@pytest.mark.soak
@pytest.mark.kafka_topic(partitions=PARTITIONS)
def test_topics_of_the_application_are_as_it_asks(
    kafka_broker: Broker,
    kafka_topic: str,
    output: str,
    application_id: str,
    start_application: StartApplication,
    open_driver: OpenDriver,
) -> None:
    start_application()
    between, changelog = f"{application_id}-words-repartition", f"{application_id}-counts-changelog"
    with Speaker(open_driver("confluent", Settings(is_idempotent=True)), kafka_topic):
        _wait_for_more(kafka_broker, output)
        # It deletes from the topic between its halves what it has counted (DeleteRecords).
        until(lambda: _log_start(kafka_broker, between) > 0, seconds=_SECONDS)
    assert topic_configs(kafka_broker, changelog)["cleanup.policy"] == "compact"
    configs = topic_configs(kafka_broker, between)
    assert (configs["cleanup.policy"], configs["retention.ms"]) == ("delete", "-1")


def _wait_for_more(broker: Broker, topic: str) -> None:
    """Wait until something was written: the writer is in the middle of its work."""
    end = log_end(broker, topic)
    until(lambda: log_end(broker, topic) > end, seconds=_SECONDS)


def _all_counts(
    open_driver: OpenDriver, application: WordCount, output: str, speaker: Speaker
) -> dict[str, list[int]]:
    """The committed counts in the output, when as many have come as must; one too many is seen as well."""
    count = sum(map(len, speaker.counts.values()))
    reader = open_driver("confluent", Settings(reads_committed=True))
    reader.consume(output, count)
    application.close()
    reader.produce(output, texts("the end"))
    *received, last = reader.consume(output, count + 1)
    assert last.value == b"the end"
    return counts_of(received)


def _log_start(broker: Broker, topic: str) -> int:
    """The highest of its partitions."""
    with RawClient(broker.port) as client:
        found = [list_offset(client, topic, EARLIEST, partition=number) for number in range(PARTITIONS)]
    return max(int(each.offset) for each in found)
