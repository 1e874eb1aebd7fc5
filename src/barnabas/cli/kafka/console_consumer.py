"""kafka-console-consumer: prints the records of topics.

Deviations from Kafka: a partition that does not exist ends the tool (Kafka waits for it), the
advertisement of the new group protocol on stderr is left out, and --include is read by librdkafka's regular
expressions (POSIX extended), with the anchors that Java's matching implies.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.kafka.console_consumer_options import (
    LATEST,
    ConsumerCall,
    consumer_call,
    consumer_options,
)
from barnabas.cli.kafka.options import Given, UsageError
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

    from barnabas.cli.messages.interruption import Stop
    from barnabas.cli.messages.record_formatter import Formatter

_TERMINATING = "Error processing message, terminating consumer process:"
_LOGGER = "(org.apache.kafka.tools.consumer.ConsoleConsumer)"
_INVALID_ARGUMENT = -186
"""librdkafka's own code."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = consumer_options()
    return run_tool(options, lambda given: _consume(consumer_call(options, given), given), arguments)


def _consume(call: ConsumerCall, given: Given) -> int:
    from barnabas.cli.messages.interruption import noticed
    from barnabas.cli.messages.librdkafka_clients import check_reachable
    from barnabas.cli.messages.record_formatter import UnknownFormatter, formatter_of

    try:
        formatter = formatter_of(call.formatter, call.formatter_properties)
    except UnknownFormatter as error:
        raise UsageError(str(error)) from None
    check_reachable(call.properties)
    with noticed() as stop:
        consumer = _subscribed(call)
        try:
            return _print_records(consumer, call, formatter, stop)
        finally:
            if given.enable_systest_events:
                print("shutdown_complete", flush=True)


def _subscribed(call: ConsumerCall) -> "Consumer":
    """Raises ToolError in cases in which Kafka's tool waits without output."""
    from confluent_kafka import KafkaException, TopicPartition

    from barnabas.cli.messages.librdkafka_clients import open_consumer

    refresh = {}
    if call.topic is not None and not _is_there(call):
        # librdkafka would look for a missing topic every five minutes only.
        refresh = {"topic_metadata_refresh_interval_ms": 1000}
    consumer = open_consumer(call.properties, **refresh)
    try:
        if call.partition is not None:
            consumer.assign([TopicPartition(call.topic or "", call.partition, _offset(call))])
        else:
            consumer.subscribe([call.topic if call.topic is not None else f"^({call.include})$"])
    except KafkaException as error:
        consumer.close()
        reason = error.args[0]
        is_bad_regex = call.include is not None and reason.code() == _INVALID_ARGUMENT
        raise ToolError(f"{call.include} is an invalid regex." if is_bad_regex else reason.str()) from None
    return consumer


def _offset(call: ConsumerCall) -> int:
    """Resolves the start and end of the log to offsets, which librdkafka would request again later."""
    from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

    from barnabas.cli.messages.librdkafka_clients import is_plaintext

    if call.offset >= 0:
        return call.offset
    if not is_plaintext(call.properties):
        return OFFSET_END if call.offset == LATEST else OFFSET_BEGINNING
    from barnabas.client.admin.offsets import READ_COMMITTED, READ_UNCOMMITTED, list_offsets
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import BrokerError
    from barnabas.client.settings import ClientSettings

    topic_partition = call.topic or "", call.partition or 0
    committed = call.properties["isolation.level"].lower() == "read_committed"
    with Cluster(ClientSettings.of(None, call.properties)) as cluster:
        isolation = READ_COMMITTED if committed else READ_UNCOMMITTED
        found = list_offsets(cluster, {topic_partition: call.offset}, isolation=isolation)[topic_partition]
    if isinstance(found, BrokerError):
        raise found
    return found.offset


def _is_there(call: ConsumerCall) -> bool:
    from barnabas.cli.messages.librdkafka_clients import log_line
    from barnabas.cli.messages.topic_wait import MissingTopic, wait_for_topic

    topic = call.topic or ""
    try:
        partitions = wait_for_topic(call.properties, topic, patience_ms=1000)
    except MissingTopic:
        if call.partition is not None:
            raise ToolError(f"Topic {topic} does not exist") from None
        log_line(
            "WARN",
            "The metadata response from the cluster reported a recoverable issue : "
            f"{{{topic}=UNKNOWN_TOPIC_OR_PARTITION}}",
        )
        return False
    if call.partition is not None and partitions is not None and call.partition not in partitions:
        raise ToolError(f"Topic {topic} has no partition {call.partition}")
    return True


def _print_records(consumer: "Consumer", call: ConsumerCall, formatter: "Formatter", stop: "Stop") -> int:
    from barnabas.cli.messages.consuming import ConsumingFailed, Intake, Silence
    from barnabas.cli.messages.deserializers import Undecodable

    intake = Intake(consumer, stop, limit=call.max_messages, silence_ms=call.timeout_ms)
    printer = _Printer(formatter, skips_errors=call.skips_errors)
    failure = None
    try:
        for batch in intake.batches():
            printer.print(batch)
    except Silence:
        _log(_TERMINATING, "org.apache.kafka.common.errors.TimeoutException")
    except ConsumingFailed as error:
        _log(_TERMINATING, str(error))
    except BrokenPipeError:
        from barnabas.cli.streams import discard_output

        discard_output()
        print("Unable to write to standard out, closing consumer.", file=sys.stderr)
    except Undecodable as error:
        failure = str(error)
    finally:
        consumer.close()
        print(f"Processed a total of {printer.count} messages", file=sys.stderr)
    if failure is not None:
        _log("Unknown error when running consumer:", failure)
        return 1
    return stop.code


def _log(text: str, reason: str) -> None:
    """The two lines of Kafka's log. The second is the exception."""
    from barnabas.cli.messages.librdkafka_clients import log_line

    log_line("ERROR", f"{text}  {_LOGGER}")
    print(reason, file=sys.stderr)


class _Printer:
    """Writes batches to standard output, each in one piece."""

    def __init__(self, formatter: "Formatter", *, skips_errors: bool) -> None:
        self._formatter: Formatter = formatter
        self._skips_errors: bool = skips_errors
        self.count: int = 0

    def print(self, batch: "Sequence[Message]") -> None:
        """Raises Undecodable (after what came before was written) and BrokenPipeError."""
        from barnabas.cli.messages.deserializers import Undecodable

        texts: list[bytes] = []
        formatter = self._formatter
        try:
            for record in batch:
                self.count += 1
                try:
                    texts.append(formatter(record))
                except Undecodable as error:
                    if not self._skips_errors:
                        raise
                    _log("Error processing message, skipping this message:", str(error))
        finally:
            sys.stdout.buffer.write(b"".join(texts))
            sys.stdout.buffer.flush()
