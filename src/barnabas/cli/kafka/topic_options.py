"""The flags of `kafka-topics`, and which of them go together."""

import sys
from collections.abc import Sequence

from barnabas.cli.kafka.options import Given, Options, UsageError, integer

ACTIONS = ("create", "list", "alter", "describe", "delete")
REPORTS = (
    "under-replicated-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
    "unavailable-partitions",
)
_SEE_CONFIGS = " (To alter topic configurations, the kafka-configs tool can be used.)"


def topic_options() -> Options:
    options = Options("kafka-topics", "Create, delete, describe, or change a topic.")
    options.option("bootstrap-server", "Required. Bootstrap brokers, separated by commas.", value="host:port")
    options.option(
        "zookeeper", "The ZooKeeper address of Kafka 2.x tools, if a ZooKeeper runs there.", value="host:port"
    )
    options.option("command-config", "A file with properties of the client.", value="file")
    options.flag("list", "List the names of topics.")
    options.flag("create", "Create a topic.")
    options.flag("delete", "Delete topics.")
    options.flag("alter", "Add partitions to topics." + _SEE_CONFIGS)
    options.flag("describe", "Show partitions and settings of topics.")
    _add_subject(options)
    _add_filters(options)
    return options


def _add_subject(options: Options) -> None:
    options.option(
        "topic",
        "A topic; except with --create also a regular expression, or several with commas.",
        value="topic",
    )
    options.option("topic-id", "The id of a topic to describe.", value="topic-id")
    options.option(
        "config",
        "A setting of the topic that is created; may be given again." + _SEE_CONFIGS,
        value="name=value",
        repeated=True,
    )
    options.option("delete-config", "Does nothing since Kafka 4.0.", value="name", repeated=True)
    options.option(
        "partitions",
        "How many partitions the topic is to have. Added partitions change where keys go.",
        value="number",
        kind=integer,
    )
    options.option(
        "replication-factor", "How many replicas each partition is to have.", value="number", kind=integer
    )
    options.option(
        "replica-assignment",
        "The brokers of each partition: colons between brokers, commas between partitions.",
        value="1:2,2:1",
    )


def _add_filters(options: Options) -> None:
    options.flag("under-replicated-partitions", "Describe only partitions that miss replicas.")
    options.flag("unavailable-partitions", "Describe only partitions without a live leader.")
    options.flag(
        "under-min-isr-partitions", "Describe only partitions with fewer replicas in sync than the minimum."
    )
    options.flag(
        "at-min-isr-partitions", "Describe only partitions with just as many replicas in sync as the minimum."
    )
    options.flag("topics-with-overrides", "Describe only topics with their own settings.")
    options.flag("if-exists", "A missing topic is not an error (alter, delete, describe).")
    options.flag("if-not-exists", "An existing topic is not an error (create).")
    options.flag("exclude-internal", "Leave out internal topics (list, describe).")
    options.option(
        "partition-size-limit-per-response",
        "The most partitions that one answer of a broker may have.",
        value="number",
        kind=int,
    )


def check(given: Given) -> None:
    options = topic_options()
    if sum(given.has(name) for name in ACTIONS) != 1:
        raise UsageError(
            "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
        )
    if given.has("delete-config"):
        print(
            "delete-config option is no longer supported and deprecated since version 4.0. The config will "
            "be fully removed in future releases.",
            file=sys.stderr,
        )
    _check_required(options, given)
    _check_invalid(options, given)


def _check_required(options: Options, given: Given) -> None:
    if given.has("bootstrap-server") and given.has("zookeeper"):
        raise UsageError("Only one of --bootstrap-server or --zookeeper must be specified")
    if not given.has("bootstrap-server") and not given.has("zookeeper"):
        raise UsageError("--bootstrap-server must be specified")
    if given.has("describe") and given.has("if-exists"):
        if not given.has("topic") and not given.has("topic-id"):
            raise UsageError("--topic or --topic-id is required to describe a topic")
        if given.has("topic") and given.has("topic-id"):
            print(
                "Only topic id will be used when both --topic and --topic-id are specified and topicId is "
                "not Uuid.ZERO_UUID"
            )
    if not given.has("list") and not given.has("describe"):
        options.require(given, "topic")
    if given.has("alter"):
        if given.has("config"):
            raise UsageError(
                'Option combination "[[bootstrap-server], [config]]" can\'t be used with option "[alter]"'
                + _SEE_CONFIGS
            )
        options.require(given, "partitions")


def _check_invalid(options: Options, given: Given) -> None:
    def only_with(name: str, *actions: str, without: Sequence[str] = ()) -> None:
        others = [action for action in ACTIONS if action not in actions]
        options.forbid(given, name, *others, *without)

    only_with("config", "alter", "create")
    only_with("partitions", "alter", "create")
    only_with("replication-factor", "create")
    only_with("replica-assignment", "alter", "create")
    if given.has("create"):
        options.forbid(given, "replica-assignment", "partitions", "replication-factor")
    for report in REPORTS:
        only_with(report, "describe", without=["topics-with-overrides"])
    only_with("topics-with-overrides", "describe", without=REPORTS)
    only_with("if-exists", "alter", "delete", "describe")
    only_with("if-not-exists", "create")
    only_with("exclude-internal", "list", "describe")
