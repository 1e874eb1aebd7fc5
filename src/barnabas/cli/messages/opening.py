"""Producers and consumers, opened from properties of the Java client; a broker that is away is told at once.

librdkafka waits for brokers in silence, for ever. So the cluster is asked first, and what librdkafka has to
say later comes as one line for each different trouble, on stderr.
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
"""A record that comes before librdkafka is connected makes it wait 500 ms for its producer id; measured."""
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


def can_be_asked(properties: Mapping[str, str]) -> bool:
    """By our own client, which speaks plain text only."""
    return properties.get("security.protocol", "PLAINTEXT").upper() == "PLAINTEXT"


def check_reachable(properties: Mapping[str, str]) -> None:
    """Raises Unreachable within seconds if no broker answers."""
    if not can_be_asked(properties):
        _ask_securely(properties)
        return
    from barnabas.client.cluster import Cluster
    from barnabas.client.settings import ClientSettings

    with Cluster(ClientSettings.of(None, properties)) as cluster:
        cluster.connection()


class Troubles:
    """What librdkafka reports by itself: each different text once."""

    def __init__(self, *, is_silent: bool = False) -> None:
        self._is_silent: bool = is_silent
        self._told: set[str] = set()
        self.last: str = ""

    def __call__(self, error: "KafkaError") -> None:
        # "localhost:9092/1: Connect to ... failed (after 0ms in state CONNECT, 3 identical error(s) ...)"
        text = re.sub(r" \(after \d+ms in state.*?\)", "", error.str())
        if text in self._told:
            return
        self._told.add(text)
        if not text.endswith("brokers are down"):
            self.last = text
        if not self._is_silent:
            log_line("ERROR" if error.fatal() else "WARN", text)


def _open(
    kind: Callable[[dict[str, Any]], T], configuration: Mapping[str, str], own: Mapping[str, object]
) -> T:
    from confluent_kafka import KafkaException

    quiet = {"log_level": _SILENT, "logger": _no_log()}
    full: dict[str, Any] = {**quiet, "error_cb": Troubles(), **configuration}
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
    """librdkafka logs what is fatal at any level, besides telling it to `error_cb` and to whoever called."""
    import logging

    log = logging.getLogger("barnabas.librdkafka")
    log.propagate = False
    log.addHandler(logging.NullHandler())
    return log


def _ask_securely(properties: Mapping[str, str]) -> None:
    """Our own client speaks plain text only: librdkafka asks, and its last complaint is the reason."""
    from confluent_kafka import KafkaException

    troubles = Troubles(is_silent=True)
    wanted = {key: value for key, value in properties.items() if key != "transactional.id"}
    producer = open_producer(wanted, error_cb=troubles)
    try:
        producer.list_topics(timeout=_PATIENCE)
    except KafkaException as error:
        producer.poll(0)
        raise Unreachable(f"No broker answers ({troubles.last or error.args[0].str()})") from None
