"""Opens producers and consumers of librdkafka from properties of the Java client.

librdkafka waits for brokers without an error. So the tool first checks that a broker answers, and prints
later errors of librdkafka on stderr, each text once.
"""

import re
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.cli.messages.client_properties import consumer_configuration, producer_configuration
from barnabas.client.errors import BadSettings, Unreachable

if TYPE_CHECKING:
    import logging

    from confluent_kafka import Consumer, KafkaError, Producer

_UNKNOWN_PROPERTY = re.compile(r'No such configuration property: "(.+?)"')
_PATIENCE = 5.0
_SILENT = 0
_SETTLING = 0.03
"""librdkafka waits 500 ms for its producer id if the first record comes before the connection; measured."""
T = TypeVar("T")


def log_line(level: str, text: str) -> None:
    """On stderr, in the form of the logs of Kafka's own tools."""
    now = time.time()
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    print(f"[{moment},{int(now * 1000) % 1000:03d}] {level} {text}", file=sys.stderr, flush=True)


def open_producer(properties: Mapping[str, str], **own: object) -> "Producer":
    """`own` are settings of librdkafka itself (dots as underscores, callbacks). Raises BadSettings."""
    from confluent_kafka import Producer

    producer = _open(Producer, producer_configuration(properties), own)
    producer.poll(_SETTLING)
    return producer


def open_consumer(properties: Mapping[str, str], **own: object) -> "Consumer":
    """As `open_producer`."""
    from confluent_kafka import Consumer

    return _open(Consumer, consumer_configuration(properties), own)


def is_plaintext(properties: Mapping[str, str]) -> bool:
    """Whether `barnabas.client` can connect: it has no TLS and no SASL."""
    return properties.get("security.protocol", "PLAINTEXT").upper() == "PLAINTEXT"


def check_reachable(properties: Mapping[str, str]) -> None:
    """Raises Unreachable within seconds if no broker answers."""
    if not is_plaintext(properties):
        _check_with_librdkafka(properties)
        return
    from barnabas.client.cluster import Cluster
    from barnabas.client.settings import ClientSettings

    with Cluster(ClientSettings.of(None, properties)) as cluster:
        cluster.connection()


class Problems:
    """The callback for errors of librdkafka: prints each text once."""

    def __init__(self, *, is_silent: bool = False) -> None:
        self._is_silent: bool = is_silent
        self._reported: set[str] = set()
        self.last: str = ""

    def __call__(self, error: "KafkaError") -> None:
        # "localhost:9092/1: Connect to ... failed (after 0ms in state CONNECT, 3 identical error(s) ...)"
        text = re.sub(r" \(after \d+ms in state.*?\)", "", error.str())
        if text in self._reported:
            return
        self._reported.add(text)
        if not text.endswith("brokers are down"):
            self.last = text
        if not self._is_silent:
            log_line("ERROR" if error.fatal() else "WARN", text)


def _open(
    kind: Callable[[dict[str, Any]], T], configuration: Mapping[str, str], own: Mapping[str, object]
) -> T:
    from confluent_kafka import KafkaException

    quiet = {"log_level": _SILENT, "logger": _no_log()}
    full: dict[str, Any] = {**quiet, "error_cb": Problems(), **configuration}
    full.update(
        {
            key if key.endswith(("_cb", "_delivery")) else key.replace("_", "."): value
            for key, value in own.items()
        }
    )
    unknown: list[str] = []
    while True:
        try:
            opened = kind(full)
            _warn(unknown)
            return opened
        except KafkaException as error:
            reason = error.args[0].str()
        except TypeError as error:
            reason = str(error)
        found = _UNKNOWN_PROPERTY.search(reason)
        if found is None or found[1] not in full:
            raise BadSettings(reason)
        unknown.append(found[1])
        del full[found[1]]


def _warn(unknown: list[str]) -> None:
    if unknown:
        log_line("WARN", f"These configurations '[{', '.join(unknown)}]' were supplied but are not used yet.")


def _no_log() -> "logging.Logger":
    """librdkafka logs fatal errors at any level, and also reports them to `error_cb` and the caller."""
    import logging

    log = logging.getLogger("barnabas.librdkafka")
    log.propagate = False
    log.addHandler(logging.NullHandler())
    return log


def _check_with_librdkafka(properties: Mapping[str, str]) -> None:
    """Requests metadata with librdkafka, for TLS and SASL. Its last error is the reason if it fails."""
    from confluent_kafka import KafkaException

    problems = Problems(is_silent=True)
    wanted = {key: value for key, value in properties.items() if key != "transactional.id"}
    producer = open_producer(wanted, error_cb=problems)
    try:
        producer.list_topics(timeout=_PATIENCE)
    except KafkaException as error:
        producer.poll(0)
        raise Unreachable(f"No broker answers ({problems.last or error.args[0].str()})") from None
