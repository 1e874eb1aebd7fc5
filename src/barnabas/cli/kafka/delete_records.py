"""`kafka-delete-records`: delete the records before an offset, for each partition that a JSON file names.

The file: `{"partitions": [{"topic": "a", "partition": 0, "offset": 5}], "version": 1}`; offset -1 stands for
the high watermark.
"""

from collections.abc import Sequence

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.kafka.options import Given, Options
from barnabas.cli.kafka.tool_runner import run_tool


def main(arguments: Sequence[str] | None = None) -> int:
    return run_tool(_options(), _work, arguments)


def _options() -> Options:
    options = Options("kafka-delete-records", "Delete the records of partitions before given offsets.")
    options.option(
        "bootstrap-server",
        "REQUIRED: bootstrap brokers, separated by commas.",
        value="server(s) to use for bootstrapping",
    )
    options.option(
        "offset-json-file",
        'REQUIRED: the offsets as JSON: {"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], '
        '"version": 1}',
        value="Offset json file path",
    )
    options.option("command-config", "Properties of the client.", value="command config property file path")
    return options


def _work(given: Given) -> int:
    _options().require(given, "bootstrap-server", "offset-json-file")
    from barnabas.cli.tool_errors import exception_text
    from barnabas.client.admin.checked_json import read_text
    from barnabas.client.admin.records import delete_records
    from barnabas.client.errors import BrokerError

    with open_cluster(given.bootstrap_server, given.command_config) as cluster:
        before = parse_offsets(read_text(given.offset_json_file))
        print("Executing records delete operation", flush=True)
        results = delete_records(cluster, before)
        print("Records delete operation completed:")
        for (topic, partition), result in sorted(results.items(), key=lambda item: item[0]):
            if isinstance(result, BrokerError):
                print(f"partition: {topic}-{partition}\terror: {exception_text(result)}")
            else:
                print(f"partition: {topic}-{partition}\tlow_watermark: {result}")
    return 0


# --- the file ----------------------------------------------------------------------------------------


def parse_offsets(text: str) -> dict[tuple[str, int], int]:
    """The offset of each partition. Raises BadJson with Kafka's text."""
    from barnabas.client.admin.checked_json import (
        BadJson,
        array,
        field,
        integer,
        long,
        object_of,
        string,
        versioned,
    )

    content = versioned(text, "The input string is not a valid JSON")
    if "partitions" not in content:
        raise BadJson("Missing partitions field")
    offsets: dict[tuple[str, int], int] = {}
    twice = []
    for entry in map(object_of, array(content["partitions"])):
        topic, partition = string(field(entry, "topic")), integer(field(entry, "partition"))
        if (topic, partition) in offsets:
            twice.append(f"{topic}-{partition}")
        offsets[topic, partition] = long(field(entry, "offset"))
    if twice:
        listed = ",".join(dict.fromkeys(twice))
        raise BadJson(f"Offset json file contains duplicate topic partitions: {listed}")
    return offsets
