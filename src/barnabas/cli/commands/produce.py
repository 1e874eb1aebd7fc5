"""`barnabas produce`: sends lines or JSON objects as records."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from barnabas.cli.front import bootstrap_options, completes, json_option, topic_names
from barnabas.cli.kafka_words import TOPIC, KafkaCommand
from barnabas.cli.view import View

if TYPE_CHECKING:
    from barnabas.cli.messages.line_reader import Outgoing
    from barnabas.cli.messages.producing import Sender

    Parser = Callable[[bytes], Outgoing]

_SHOWN_FAILURES = 5


@click.command(cls=KafkaCommand, arguments=TOPIC)
@click.argument("topic", shell_complete=completes(topic_names))
@click.option("-k", "--key", help="The key of every record.")
@click.option(
    "-H", "--header", "headers", multiple=True, metavar="NAME=VALUE", help="A header of every record."
)
@click.option("-p", "--partition", type=click.IntRange(min=0), help="Send to this partition.")
@click.option("-f", "--file", "path", type=click.Path(exists=True, dir_okay=False), help="Read this file.")
@click.option("-s", "--separator", metavar="TEXT", help="What is before it in a line is the key.")
@click.option("--json-lines", is_flag=True, help="Each line is a record, as `consume --json` prints it.")
@click.option(
    "--compression",
    "--compression-codec",
    type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]),
    default="none",
    show_default=True,
)
@click.option(
    "--acks",
    "--request-required-acks",
    type=click.Choice(["0", "1", "all"]),
    default="all",
    show_default=True,
)
@bootstrap_options
@json_option
def produce(
    topic: str,
    key: str | None,
    headers: tuple[str, ...],
    partition: int | None,
    path: str | None,
    separator: str | None,
    json_lines: bool,
    compression: str,
    acks: str,
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
) -> int:
    """Send lines of standard input (or of a file) to TOPIC, one record each.

    With --json-lines a line is {"key": ..., "value": ..., "headers": ..., "partition": ...,
    "timestamp": ...}, all of it optional.
    """
    if separator == "":
        raise click.UsageError("--separator: expected at least one character")
    if json_lines and separator is not None:
        raise click.UsageError("--separator is for lines of text, not for --json-lines")
    properties = {
        **_properties(command_config),
        "bootstrap.servers": bootstrap_server,
        "compression.type": compression,
        "acks": acks,
        "batch.size": "1000000",
    }
    pairs = _header_pairs(headers)
    if json_lines or separator is not None or key is not None or pairs or partition is not None:
        parse = _json_parser() if json_lines else _text_parser(separator)
        complete = _completer(key, pairs, partition)
        return _send_all(topic, properties, path, lambda line: complete(parse(line)), View(as_json=as_json))
    return _send_all(topic, properties, path, None, View(as_json=as_json))


def _properties(command_config: str | None) -> dict[str, str]:
    from barnabas.client.settings import read_properties

    return {"client.id": "barnabas-produce", **(read_properties(command_config) if command_config else {})}


def _header_pairs(words: tuple[str, ...]) -> list[tuple[str, str | bytes | None]]:
    found: list[tuple[str, str | bytes | None]] = []
    for word in words:
        name, is_pair, value = word.partition("=")
        if not is_pair or not name:
            raise click.UsageError(f"--header {word}: expected NAME=VALUE")
        found.append((name, value.encode("utf-8", "surrogateescape")))
    return found


def _text_parser(separator: str | None) -> "Parser":
    from barnabas.cli.messages.line_reader import Outgoing

    if separator is None:
        return lambda line: Outgoing(None, line)
    mark = separator.encode("utf-8", "surrogateescape")

    def parse(line: bytes) -> Outgoing:
        before, found, after = line.partition(mark)
        return Outgoing(before, after) if found else Outgoing(None, line)

    return parse


def _json_parser() -> "Parser":
    from barnabas.cli.messages.json_record import record_of_json

    return record_of_json


def _completer(
    key: str | None, headers: list[tuple[str, str | bytes | None]], partition: int | None
) -> "Callable[[Outgoing], Outgoing]":
    """Sets fields from options that the record does not set itself."""
    raw_key = None if key is None else key.encode("utf-8", "surrogateescape")

    def complete(record: "Outgoing") -> "Outgoing":
        return record._replace(
            key=raw_key if record.key is None else record.key,
            headers=[*(record.headers or ()), *headers] or None,
            partition=partition if partition is not None and record.partition < 0 else record.partition,
        )

    return complete


def _send_all(
    topic: str, properties: dict[str, str], path: str | None, parse: "Parser | None", view: View
) -> int:
    """Without `parse` a line is a bare value, which is faster."""
    from barnabas.cli.messages.interruption import Interrupted, raised
    from barnabas.cli.messages.json_record import BadRecord
    from barnabas.cli.messages.librdkafka_clients import check_reachable
    from barnabas.cli.messages.producing import Sender
    from barnabas.cli.messages.topic_wait import MissingTopic, wait_for_topic
    from barnabas.cli.tool_errors import ToolError
    from barnabas.client.errors import BrokerError

    check_reachable(properties)
    try:
        wait_for_topic(properties, topic)
    except MissingTopic as error:
        raise ToolError(str(error)) from None
    except BrokerError as error:
        raise ToolError(f"{topic}: {error}") from None
    failures = _Failures(view)
    sender = Sender(properties, topic, failures)
    begin = time.monotonic()
    code, problem = 0, None
    try:
        with raised():
            _pump(sender, path, parse, view)
    except Interrupted as end:
        code = end.code
    except BadRecord as error:
        problem = f"line {sender.sent + 1}: {error}"
    sender.flush()
    _summary(view, topic, sender, time.monotonic() - begin)
    if problem is not None:
        raise ToolError(problem)
    return code or (1 if sender.failed else 0)


def _pump(sender: "Sender", path: str | None, parse: "Parser | None", view: View) -> None:
    from barnabas.cli.messages.line_reader import lines

    size = Path(path).stat().st_size if path is not None else None
    with (
        _opened(path) as source,
        view.progress("Sending", size) if path is not None else _silent() as advance,
    ):
        for found in lines(source):
            if parse is None:
                sender.send_values(found)
            else:
                for line in found:
                    sender.send(parse(line))
            advance(sum(map(len, found)) + len(found))


@contextmanager
def _opened(path: str | None) -> Iterator[BinaryIO]:
    if path is None:
        yield sys.stdin.buffer
        return
    with open(path, "rb") as file:
        yield file


@contextmanager
def _silent() -> Iterator[Callable[[int], None]]:
    yield lambda step: None


def _summary(view: View, topic: str, sender: "Sender", seconds: float) -> None:
    delivered = sender.sent - sender.failed
    if view.as_json:
        view.value({"topic": topic, "sent": delivered, "failed": sender.failed, "seconds": round(seconds, 3)})
        return
    failed = f", {sender.failed} failed" if sender.failed else ""
    view.note(f"Sent {delivered} record{'' if delivered == 1 else 's'} to {topic} in {seconds:.1f} s{failed}")


class _Failures:
    """Prints the first failures, one line each. The summary has their number."""

    def __init__(self, view: View) -> None:
        self._view: View = view
        self._count: int = 0

    def __call__(self, key: bytes | None, value: bytes | None, reason: str) -> None:
        self._count += 1
        if self._count <= _SHOWN_FAILURES:
            self._view.note(f"Not sent ({len(value or b'')} bytes): {reason.rpartition('errors.')[2]}")
