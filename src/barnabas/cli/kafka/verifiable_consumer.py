"""kafka-verifiable-consumer: reads a topic in a group and prints events as JSON lines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.kafka.options import Given, Options, UsageError, integer
from barnabas.cli.kafka.tool_runner import run_tool

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition

    from barnabas.cli.messages.interruption import Stop

_POLLED = 500
"""Records of one poll of the Java consumer."""
_RANGE = "org.apache.kafka.clients.consumer.RangeAssignor"


def _options() -> Options:
    options = Options("kafka-verifiable-consumer", "Reads a topic in a group and prints events as JSON.")
    option = options.option
    option("topic", "REQUIRED: what to read.", value="TOPIC")
    option("bootstrap-server", "REQUIRED: bootstrap brokers.", value="HOST1:PORT1", aliases=["broker-list"])
    option("group-id", "REQUIRED: the consumer group.", value="GROUP-ID")
    option("group-protocol", "classic or consumer.", value="GROUP-PROTOCOL", default="classic")
    option("group-remote-assignor", "The broker's assignor (protocol consumer).", value="ASSIGNOR")
    option("group-instance-id", "The name of a static member.", value="GROUP-INSTANCE-ID")
    option("max-messages", "How many to read; -1 for no end.", value="MAX-MESSAGES", kind=integer, default=-1)
    option("session-timeout", "The session timeout (protocol classic).", value="TIMEOUT-MS", kind=integer)
    options.flag("verbose", "Also print each record.")
    options.flag("enable-autocommit", "Offsets are committed by themselves.")
    option("reset-policy", "earliest, latest or none.", value="RESET-POLICY", default="earliest")
    option("assignment-strategy", "The assignor (protocol classic).", value="STRATEGY", default=_RANGE)
    option("command-config", "A file of consumer properties.", value="CONFIG-FILE")
    option("consumer.config", "Deprecated: use --command-config.", value="CONFIG-FILE")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options()
    return run_tool(options, lambda given: _run(options, given), arguments)


def _run(options: Options, given: Given) -> int:
    options.require(given, "topic", "bootstrap-server", "group-id")
    from barnabas.cli.messages.interruption import noticed
    from barnabas.cli.messages.librdkafka_clients import check_reachable, open_consumer
    from barnabas.cli.messages.topic_wait import MissingTopic, wait_for_topic

    properties = _properties(given)
    check_reachable(properties)
    refresh = {}
    try:
        wait_for_topic(properties, given.topic, patience_ms=1000)
    except MissingTopic:
        refresh = {"topic_metadata_refresh_interval_ms": 1000}
    with noticed() as stop:
        return _Reading(given, open_consumer(properties, **refresh)).run(stop)


def _properties(given: Given) -> dict[str, str]:
    from barnabas.client.settings import read_properties

    if given.has("consumer.config") and given.has("command-config"):
        raise UsageError("Options --consumer.config and --command-config are mutually exclusive.")
    if given.has("consumer.config"):
        print(
            "Option --consumer.config has been deprecated and will be removed in a future version. "
            "Use --command-config instead."
        )
    path = given.command_config or given.consumer_config
    found = read_properties(path) if path else {}
    found["group.protocol"] = given.group_protocol
    if given.group_protocol.lower() == "consumer":
        if given.group_remote_assignor is not None:
            found["group.remote.assignor"] = given.group_remote_assignor
    else:
        found["partition.assignment.strategy"] = given.assignment_strategy
    if given.session_timeout is not None:
        found["session.timeout.ms"] = str(given.session_timeout)
    if given.group_instance_id is not None:
        found["group.instance.id"] = given.group_instance_id
    found["group.id"] = given.group_id
    found["bootstrap.servers"] = given.bootstrap_server
    found["enable.auto.commit"] = "true" if given.enable_autocommit else "false"
    found["auto.offset.reset"] = given.reset_policy
    return found


class _Reading:
    """One run: subscribes, reads, commits after each batch, and prints an event for each step."""

    def __init__(self, given: Given, consumer: "Consumer") -> None:
        self._given: Given = given
        self._consumer: Consumer = consumer

    def run(self, stop: "Stop") -> int:
        from barnabas.cli.messages.consuming import ConsumingFailed, Intake
        from barnabas.cli.messages.events import print_event
        from barnabas.cli.messages.librdkafka_clients import log_line

        given = self._given
        limit = None if given.max_messages < 0 else given.max_messages
        intake = Intake(self._consumer, stop, limit=limit, batch=_POLLED)
        print_event("startup_complete")
        self._consumer.subscribe([given.topic], on_assign=_assigned, on_revoke=_revoked)
        try:
            for batch in intake.batches():
                self._report(batch)
        except ConsumingFailed as error:
            log_line("ERROR", f"Error during processing, terminating consumer process: {error}")
        finally:
            if stop:
                print_event("shutdown_requested")
            self._consumer.close()
            print_event("shutdown_complete")
            if not stop:
                # Kafka's hook for signals also runs when the program ends by itself.
                print_event("shutdown_requested")
        return stop.code

    def _report(self, batch: "list[Message]") -> None:
        from barnabas.cli.messages.events import print_event

        by_partition: dict[tuple[str, int], list[Message]] = {}
        for record in batch:
            by_partition.setdefault((record.topic() or "", record.partition() or 0), []).append(record)
        summaries = []
        for (topic, partition), records in by_partition.items():
            summaries.append(
                {
                    "topic": topic,
                    "partition": partition,
                    "count": len(records),
                    "minOffset": records[0].offset(),
                    "maxOffset": records[-1].offset(),
                }
            )
            if self._given.verbose:
                for record in records:
                    _report_record(record)
        print_event("records_consumed", count=len(batch), partitions=summaries)
        if not self._given.enable_autocommit:
            self._commit(
                {
                    topic_partition: (records[-1].offset() or 0) + 1
                    for topic_partition, records in by_partition.items()
                }
            )

    def _commit(self, offsets: dict[tuple[str, int], int]) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        from barnabas.cli.messages.events import print_event
        from barnabas.cli.messages.producing import reason_of

        failure = {}
        wanted = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
        try:
            self._consumer.commit(offsets=wanted, asynchronous=False)
        except KafkaException as error:
            failure = {"error": reason_of(error.args[0])}
        shown = [
            {"topic": topic, "partition": number, "offset": offset}
            for (topic, number), offset in offsets.items()
        ]
        print_event("offsets_committed", offsets=shown, **failure, success=not failure)


def _report_record(record: "Message") -> None:
    from barnabas.cli.messages.events import print_event

    key, value = record.key(), record.value()
    print_event(
        "record_data",
        key=None if key is None else key.decode("utf-8", "replace"),
        value=None if value is None else value.decode("utf-8", "replace"),
        topic=record.topic(),
        partition=record.partition(),
        offset=record.offset(),
    )


def _assigned(consumer: "Consumer", partitions: "list[TopicPartition]") -> None:
    _report_partitions("partitions_assigned", partitions)


def _revoked(consumer: "Consumer", partitions: "list[TopicPartition]") -> None:
    _report_partitions("partitions_revoked", partitions)


def _report_partitions(event: str, partitions: "list[TopicPartition]") -> None:
    from barnabas.cli.messages.events import print_event

    print_event(event, partitions=[{"topic": each.topic, "partition": each.partition} for each in partitions])
