"""kafka-verifiable-producer: sends increasing numbers and prints each acknowledgement as a JSON line."""

import itertools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.kafka.options import Given, Options, UsageError, integer
from barnabas.cli.kafka.tool_runner import run_tool

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

_ACKS = ("0", "1", "-1")


def _options() -> Options:
    options = Options(
        "kafka-verifiable-producer", "Sends increasing numbers and prints acknowledgements as JSON."
    )
    option = options.option
    option("topic", "REQUIRED: where to send to.", value="TOPIC")
    option("bootstrap-server", "REQUIRED: bootstrap brokers.", value="HOST1:PORT1", aliases=["broker-list"])
    option("max-messages", "How many to send; -1 for no end.", value="MAX-MESSAGES", kind=integer, default=-1)
    option("throughput", "The most records a second; -1 for all it can.", value="N", kind=integer, default=-1)
    option("acks", "0, 1 or -1.", value="ACKS", default="-1")
    option("message-create-time", "The time of the first record, in ms.", value="TIME", kind=int, default=-1)
    option("value-prefix", "A number and a dot before each value.", value="VALUE-PREFIX", kind=int)
    option("repeating-keys", "Keys from 0 to this one, again and again.", value="KEYS", kind=int)
    option("command-config", "A file of producer properties.", value="CONFIG-FILE")
    option("producer.config", "Deprecated: use --command-config.", value="CONFIG-FILE")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options()
    return run_tool(options, lambda given: _run(options, given), arguments)


def _run(options: Options, given: Given) -> int:
    options.require(given, "topic", "bootstrap-server")
    from barnabas.cli.messages.interruption import noticed
    from barnabas.cli.messages.librdkafka_clients import check_reachable, open_producer

    properties = _properties(given)
    check_reachable(properties)
    with noticed() as stop:
        numbers = _Numbers(given, open_producer(properties))
        begin = time.time()
        numbers.run(stop)
        numbers.close(begin)
        return stop.code


def _properties(given: Given) -> dict[str, str]:
    from barnabas.client.settings import read_properties

    if given.acks not in _ACKS:
        raise UsageError(f"argument --acks: invalid choice: '{given.acks}' (choose from {{0,1,-1}})")
    if given.has("producer.config") and given.has("command-config"):
        raise UsageError("Options --producer.config and --command-config are mutually exclusive.")
    if given.has("producer.config"):
        print(
            "Option --producer.config has been deprecated and will be removed in a future version. "
            "Use --command-config instead."
        )
    path = given.command_config or given.producer_config
    return {
        "bootstrap.servers": given.bootstrap_server,
        "acks": given.acks,
        "retries": "0",
        **(read_properties(path) if path else {}),
    }


class _Numbers:
    """The records of one run and their results."""

    def __init__(self, given: Given, producer: "Producer") -> None:
        self._given: Given = given
        self._producer: Producer = producer
        self._sent: int = 0
        self._acked: int = 0

    def run(self, stop: object) -> None:
        from barnabas.cli.messages.events import print_event
        from barnabas.cli.messages.pace import Pace

        given = self._given
        print_event("startup_complete")
        pace = Pace(given.throughput)
        begin_ms = int(time.time() * 1000)
        create_ms = given.message_create_time
        keys = itertools.cycle(range(given.repeating_keys)) if given.repeating_keys else None
        number = 0
        while not stop and not 0 <= given.max_messages <= number:
            key = None if keys is None else str(next(keys))
            value = str(number) if given.value_prefix is None else f"{given.value_prefix}.{number}"
            self._send(key, value, max(create_ms, 0))
            if create_ms >= 0:
                create_ms += int(time.time() * 1000) - begin_ms
            number += 1
            self._producer.poll(0)
            pace.wait(number)

    def _send(self, key: str | None, value: str, time_ms: int) -> None:
        self._sent += 1
        while True:
            try:
                self._producer.produce(
                    self._given.topic, value, key, on_delivery=self._delivered, timestamp=time_ms
                )
                return
            except BufferError:
                self._producer.poll(0.05)

    def _delivered(self, error: "KafkaError | None", message: "Message") -> None:
        from barnabas.cli.messages.events import print_event

        key, value = _text(message.key()), _text(message.value())
        if error is None:
            self._acked += 1
            print_event(
                "producer_send_success",
                key=key,
                value=value,
                offset=message.offset(),
                topic=message.topic(),
                partition=message.partition(),
            )
            return
        from barnabas.cli.messages.producing import reason_of

        kind, _, text = reason_of(error).partition(": ")
        print_event(
            "producer_send_error",
            key=key,
            value=value,
            topic=self._given.topic,
            exception=f"class {kind}",
            message=text,
        )

    def close(self, begin: float) -> None:
        from barnabas.cli.messages.events import print_event

        self._producer.flush()
        print_event("shutdown_complete")
        seconds = max(time.time() - begin, 0.001)
        print_event(
            "tool_data",
            sent=self._sent,
            acked=self._acked,
            target_throughput=self._given.throughput,
            avg_throughput=self._acked / seconds,
        )


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "replace")
