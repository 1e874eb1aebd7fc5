"""Kafka Streams with exactly_once_v2: every word is counted once, whatever stops in between."""

from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.integration.clients.drivers import Driver
from tests.integration.clients.drivers.member import until
from tests.integration.clients.drivers.word_count import WordCount
from tests.integration.clients.messages import Message, Settings
from tests.integration.clients.transactions import texts

from barnabas.testing import Broker

pytestmark = [pytest.mark.needs("java", "javac", "maven", "confluent_kafka")]
OpenDriver = Callable[..., Driver]
_LINES = ("to be or not to be", "that is the question", "to die to sleep", "no more and by a sleep")
_ROUNDS = 15


def _counts(messages: list[Message]) -> dict[str, list[int]]:
    counts = defaultdict(list)
    for message in messages:
        counts[(message.key or b"").decode()].append(int(message.value or b""))
    return dict(counts)


@pytest.mark.parametrize(
    "happening",
    [
        "broker restarts",
        pytest.param("broker is killed", marks=pytest.mark.soak),
        pytest.param("application is killed", marks=pytest.mark.soak),
    ],
)
@pytest.mark.kafka_topic(partitions=2)
def test_words_are_counted_once(
    kafka_broker: Broker,
    kafka_topic: str,
    open_driver: OpenDriver,
    jars: Path,
    java_classes: Path,
    tmp_path: Path,
    happening: str,
) -> None:
    output = f"{kafka_topic}-output"
    kafka_broker.create_topic(output)
    driver = open_driver("confluent")
    count = sum(len(line.split()) for line in _LINES) * _ROUNDS

    with ExitStack() as stack:

        def start() -> WordCount:
            where = (kafka_broker.bootstrap_servers, f"count-{kafka_topic[-8:]}", kafka_topic, output)
            return stack.enter_context(WordCount(jars, java_classes, *where, directory=tmp_path / "state"))

        application = start()
        until(lambda: application.is_running, seconds=60)
        for number in range(_ROUNDS):
            driver.produce(kafka_topic, texts(*_LINES, partition=number % 2))
            if number == _ROUNDS // 2:
                open_driver("confluent").consume(output, 1)  # it is in the middle of its work
                if happening == "application is killed":
                    application.kill()
                    application = start()
                elif happening == "broker is killed":
                    kafka_broker.kill()
                    kafka_broker.start()
                else:
                    kafka_broker.restart()
        received = open_driver("confluent", Settings(reads_committed=True)).consume(output, count)
        application.close()
    expected: dict[str, int] = defaultdict(int)
    for word in " ".join(_LINES).split():
        expected[word] += _ROUNDS
    assert _counts(received) == {word: list(range(1, times + 1)) for word, times in expected.items()}
