"""`kafka-delete-records`: delete the records before an offset, for each partition that a JSON file names.

The file: `{"partitions": [{"topic": "a", "partition": 0, "offset": 5}], "version": 1}`; offset -1 stands for
the high watermark.
"""

import json
from collections.abc import Mapping, Sequence

from barnabas.cli.kafka.options import Given, Options
from barnabas.cli.kafka.running import run_tool
from barnabas.cli.opening import open_cluster
from barnabas.cli.tool_error import ToolError

_VERSION = 1
_LARGEST_INTEGER, _LARGEST_LONG = 2**31 - 1, 2**63 - 1


def main(arguments: Sequence[str] | None = None) -> int:
    return run_tool(_options(), _work, arguments)


def _options() -> Options:
    options = Options("kafka-delete-records", "Delete the records of partitions before given offsets.")
    options.option(
        "bootstrap-server",
        "REQUIRED: brokers to ask first, several with commas.",
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
    from barnabas.cli.exception_names import exception_text
    from barnabas.client.admin.records import delete_records
    from barnabas.client.errors import BrokerError

    with open_cluster(given.bootstrap_server, given.command_config) as cluster:
        before = parse_offsets(_read(given.offset_json_file))
        print("Executing records delete operation", flush=True)
        results = delete_records(cluster, before)
        print("Records delete operation completed:")
        for (topic, partition), result in sorted(results.items(), key=lambda item: item[0]):
            if isinstance(result, BrokerError):
                print(f"partition: {topic}-{partition}\terror: {exception_text(result)}")
            else:
                print(f"partition: {topic}-{partition}\tlow_watermark: {result}")
    return 0


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ToolError(f"{path}: not a text in UTF-8") from None


# --- the file ----------------------------------------------------------------------------------------


def parse_offsets(text: str) -> dict[tuple[str, int], int]:
    """The offset of each partition. Raises ToolError, with Kafka's words."""
    try:
        content = json.loads(text)
    except ValueError:
        raise ToolError("The input string is not a valid JSON") from None
    content = _object(content)
    version = _integer(content["version"], "Integer", _LARGEST_INTEGER) if "version" in content else _VERSION
    if version != _VERSION:
        raise ToolError(f"Not supported version field value {version}")
    if "partitions" not in content:
        raise ToolError("Missing partitions field")
    if not isinstance(content["partitions"], list):
        raise ToolError(f"Expected JSON array, received {_shown(content['partitions'])}")
    offsets: dict[tuple[str, int], int] = {}
    twice = []
    for entry in map(_object, content["partitions"]):
        topic = _text(_field(entry, "topic"))
        partition = _integer(_field(entry, "partition"), "Integer", _LARGEST_INTEGER)
        offset = _integer(_field(entry, "offset"), "Long", _LARGEST_LONG)
        if (topic, partition) in offsets:
            twice.append(f"{topic}-{partition}")
        offsets[topic, partition] = offset
    if twice:
        listed = ",".join(dict.fromkeys(twice))
        raise ToolError(f"Offset json file contains duplicate topic partitions: {listed}")
    return offsets


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ToolError(f"Expected JSON object, received {_shown(value)}")
    return value


def _field(entry: Mapping[str, object], name: str) -> object:
    if name not in entry:
        raise ToolError(f"No such field exists: `{name}`")
    return entry[name]


def _integer(value: object, kind: str, largest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -largest - 1 <= value <= largest:
        raise ToolError(f"Expected `{kind}` value, received {_shown(value)}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ToolError(f"Expected `String` value, received {_shown(value)}")
    return value


def _shown(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
