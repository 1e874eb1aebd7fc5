"""The command line of kafka-console-consumer: its flags and Kafka's checks between them."""

import random
import sys
from dataclasses import dataclass

from barnabas.cli.kafka.options import Given, Options, UsageError, integer, whole_number
from barnabas.cli.tool_errors import ToolError

_DEFAULT_FORMATTER = "org.apache.kafka.tools.consumer.DefaultMessageFormatter"
EARLIEST, LATEST = -2, -1
"""Timestamps that stand for the start and the end of a log in ListOffsets."""


@dataclass(frozen=True, slots=True)
class ConsumerCall:
    """The parsed command line."""

    topic: str | None
    include: str | None
    partition: int | None
    offset: int
    """-2 for the beginning, -1 for the end; only with a partition."""
    max_messages: int | None
    timeout_ms: int | None
    skips_errors: bool
    properties: dict[str, str]
    formatter: str
    formatter_properties: dict[str, str]


def consumer_options() -> Options:
    options = Options("kafka-console-consumer", "Reads records of topics and prints them.")
    option = options.option
    option("topic", "The topic to read.", value="topic")
    option(
        "include",
        "A regular expression of topics to read.",
        value="Java regex (String)",
        deprecated=["whitelist"],
    )
    option("partition", "One partition alone, from its end or --offset.", value="partition", kind=integer)
    option("offset", "Where to begin: a number, earliest or latest.", value="consume offset")
    option("bootstrap-server", "REQUIRED: bootstrap brokers.", value="server to connect to")
    option("group", "The consumer group; a fresh one if none is named.", value="consumer group id")
    options.flag("from-beginning", "Begin with the oldest record, unless the group has an offset already.")
    option("max-messages", "How many records to read before it ends.", value="num_messages", kind=integer)
    option("timeout-ms", "Exit if no record arrives for this time.", value="timeout_ms", kind=int)
    option("isolation-level", "read_committed leaves out what was not committed.", default="read_uncommitted")
    option("formatter", "The class that prints records.", value="class", default=_DEFAULT_FORMATTER)
    option(
        "formatter-property",
        "How records are printed, key=value: print.timestamp, print.key, print.offset, print.epoch, "
        "print.partition, print.headers, print.value, key.separator, line.separator, headers.separator, "
        "null.literal, key.deserializer, value.deserializer, headers.deserializer.",
        value="prop",
        repeated=True,
    )
    option("property", "Deprecated: use --formatter-property.", value="prop", repeated=True)
    option("formatter-config", "A file of formatter properties.", value="config file")
    option("key-deserializer", "The class that reads keys.", value="deserializer for keys")
    option("value-deserializer", "The class that reads values.", value="deserializer for values")
    options.flag("skip-message-on-error", "Pass over a record that cannot be printed.")
    options.flag("enable-systest-events", "Also print when the consumer has ended.")
    option("command-property", "A property of the consumer, key=value.", value="consumer_prop", repeated=True)
    option("consumer-property", "Deprecated: use --command-property.", value="consumer_prop", repeated=True)
    option("command-config", "A file of consumer properties.", value="config file")
    option("consumer.config", "Deprecated: use --command-config.", value="config file")
    return options


def consumer_call(options: Options, given: Given) -> ConsumerCall:
    """Raises UsageError, with Kafka's text, in the order of its checks."""
    _check_required(options, given)
    from_file, extra = _given_properties(given)
    groups = _groups(given, from_file, extra)
    properties = {**from_file, **extra}
    _set_offset_reset(given, properties)
    _set_consumer_properties(given, properties, groups)
    offset = _offset(given)
    return ConsumerCall(
        given.topic,
        given.include,
        given.partition,
        offset,
        None if given.max_messages is None or given.max_messages == -1 else given.max_messages,
        given.timeout_ms if given.timeout_ms is not None and given.timeout_ms >= 0 else None,
        given.skip_message_on_error,
        properties,
        given.formatter,
        _formatter_properties(given),
    )


def _check_required(options: Options, given: Given) -> None:
    options.require_one_of(given, "topic", "include")
    if given.has("partition"):
        if not given.has("topic"):
            raise UsageError("The topic is required when partition is specified.")
        if given.from_beginning and given.has("offset"):
            raise UsageError("Options from-beginning and offset cannot be specified together.")
    elif given.has("offset"):
        raise UsageError("The partition is required when offset is specified.")
    options.require(given, "bootstrap-server")


def _given_properties(given: Given) -> tuple[dict[str, str], dict[str, str]]:
    from barnabas.cli.messages.client_properties import parse_pairs
    from barnabas.client.settings import read_properties

    for old, new in (("consumer-property", "command-property"), ("consumer.config", "command-config")):
        if given.has(old) and given.has(new):
            raise UsageError(f"Options --{old} and --{new} cannot be specified together.")
    for old, new in (("consumer-property", "command-property"), ("consumer.config", "command-config")):
        if given.has(old):
            _warn(old, new)
    path = given.command_config or given.consumer_config
    pairs = given.command_property or given.consumer_property
    return (read_properties(path) if path else {}), parse_pairs(pairs)


def _warn(old: str, new: str) -> None:
    """Prints on stdout, as Kafka's tool does."""
    print(f"Option --{old} is deprecated and will be removed in a future version. Use --{new} instead.")
    sys.stdout.flush()


def _groups(given: Given, from_file: dict[str, str], extra: dict[str, str]) -> list[str]:
    found = [given.group, from_file.get("group.id"), extra.get("group.id")]
    groups = list(dict.fromkeys(group for group in found if group is not None))
    if len(groups) > 1:
        listed = ", ".join(f"'{group}'" for group in groups)
        raise UsageError(
            "The group ids provided in different places (directly using '--group', "
            "via '--consumer-property', or via '--consumer.config') do not match. "
            f"Detected group ids: {listed}"
        )
    if groups and given.has("partition"):
        raise UsageError("Options group and partition cannot be specified together.")
    return groups


def _set_offset_reset(given: Given, properties: dict[str, str]) -> None:
    chosen = properties.get("auto.offset.reset")
    if chosen is None:
        properties["auto.offset.reset"] = "earliest" if given.from_beginning else "latest"
    elif given.from_beginning and chosen != "earliest":
        raise ToolError(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={chosen}', "
            "please remove one option"
        )


def _set_consumer_properties(given: Given, properties: dict[str, str], groups: list[str]) -> None:
    properties["bootstrap.servers"] = given.bootstrap_server
    properties.setdefault("client.id", "console-consumer")
    if given.has("isolation-level"):
        properties["isolation.level"] = given.isolation_level
    properties.setdefault("isolation.level", given.isolation_level)
    if groups:
        properties["group.id"] = groups[0]
        return
    properties["group.id"] = f"console-consumer-{random.randrange(100_000)}"
    # The generated group is not used again: do not commit its offsets.
    properties.setdefault("enable.auto.commit", "false")


def _offset(given: Given) -> int:
    if not given.has("offset"):
        return EARLIEST if given.from_beginning else LATEST
    known = {"earliest": EARLIEST, "latest": LATEST}.get(given.offset.lower())
    if known is not None:
        return known
    try:
        offset = whole_number(given.offset)
    except ValueError:
        offset = -1
    if offset < 0:
        raise UsageError(
            f"The provided offset value '{given.offset}' is incorrect. Valid values are "
            "'earliest', 'latest', or a non-negative long."
        )
    return offset


def _formatter_properties(given: Given) -> dict[str, str]:
    from barnabas.cli.messages.client_properties import parse_pairs
    from barnabas.client.settings import read_properties

    if given.has("property") and given.has("formatter-property"):
        raise UsageError("Options --property and --formatter-property cannot be specified together.")
    if given.has("property"):
        _warn("property", "formatter-property")
    found = read_properties(given.formatter_config) if given.formatter_config else {}
    if given.key_deserializer:
        found["key.deserializer"] = given.key_deserializer
    if given.value_deserializer:
        found["value.deserializer"] = given.value_deserializer
    found.update(parse_pairs(given.formatter_property or given.property))
    return found
