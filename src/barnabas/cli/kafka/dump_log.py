"""kafka-dump-log: prints the content of the files of a log.

It reads files, not a cluster, and never writes (Kafka's tool creates a missing index and truncates a
preallocated one). Mismatches between files are printed on stderr at the end. An unreadable file ends the dump
with one line and status 1; Kafka's tool prints a stack trace there.
"""

import io
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.kafka.options import Given, Options, fail
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.cli.dump.decoders import Decoder

_MAX_INT = (1 << 31) - 1
_MAX_MESSAGE_SIZE = 5 * 1024 * 1024
_DECODERS = (
    "offsets-decoder",
    "transaction-log-decoder",
    "cluster-metadata-decoder",
    "remote-log-metadata-decoder",
    "share-group-state-decoder",
    "value-decoder-class",
    "key-decoder-class",
)


def main(arguments: Sequence[str] | None = None) -> int:
    return run_tool(_options(), _dump, arguments)


def _options() -> Options:
    options = Options("kafka-dump-log", "Print the files of a log: segments, indexes, producer snapshots.")
    options.option("files", "REQUIRED: The files, several with commas.", value="file1, file2, ...")
    options.flag("print-data-log", "Print keys and values. Any of the decoders does too.")
    options.flag("deep-iteration", "Print a line for each record, not only for each batch.")
    options.flag("verify-index-only", "Compare an index with its log without printing the index.")
    options.flag(
        "index-sanity-check", "Only check an index as a broker does when it starts, without printing it."
    )
    options.option(
        "max-message-size", "The largest batch.", value="Integer: size", kind=_int, default=_MAX_MESSAGE_SIZE
    )
    options.option(
        "max-bytes",
        "How much of a log to read, in whole batches.",
        value="Integer: size",
        kind=_int,
        default=_MAX_INT,
    )
    decoder = "The class that decodes {}: one of Kafka's decoders or deserializers of plain types."
    options.option("value-decoder-class", decoder.format("values"), optional_value=True)
    options.option("key-decoder-class", decoder.format("keys"), optional_value=True)
    options.flag("offsets-decoder", "Decode the records of __consumer_offsets.")
    options.flag("transaction-log-decoder", "Decode the records of __transaction_state.")
    options.flag("cluster-metadata-decoder", "Decode the records of a KRaft controller's metadata log.")
    options.flag("remote-log-metadata-decoder", "Not supported: there is no tiered storage here.")
    options.flag("share-group-state-decoder", "Decode the records of __share_group_state.")
    options.flag("skip-record-metadata", "Print only keys and values of records, no control records.")
    return options


def _int(text: str) -> int:
    number = int(text)
    if not -_MAX_INT - 1 <= number <= _MAX_INT:
        raise ValueError
    return number


def _dump(given: Given) -> None:
    if given.words:
        fail(f"Unexpected arguments: {' '.join(given.words)}. Several files are separated by commas.")
    if not given.has("files"):
        fail('Missing required argument "[files]"')
    if given.has("remote-log-metadata-decoder"):
        raise ToolError("The remote log metadata decoder is not supported: there is no tiered storage here.")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # keys may contain characters that the terminal cannot print

    from barnabas.cli.dump import Unreadable
    from barnabas.cli.kafka.dump_files import FileDumps

    try:
        dumps = FileDumps(
            decoder=_decoder(given),
            with_records=given.deep_iteration or _prints_data(given),
            skips_metadata=given.skip_record_metadata,
            verifies_only=given.verify_index_only,
            checks_sanity=given.index_sanity_check,
            max_message_size=given.max_message_size,
            max_bytes=None if given.max_bytes == _MAX_INT else given.max_bytes,
        )
        for path in _paths(given.files):
            dumps.dump(path)
    except Unreadable as error:
        raise ToolError(str(error)) from None
    dumps.report()


def _paths(files: str) -> list[str]:
    """Splits and normalises names as Java does: no empty names at the end, no doubled or trailing slash."""
    paths = files.split(",")
    while len(paths) > 1 and not paths[-1]:
        paths.pop()
    return [re.sub("/+", "/", path).rstrip("/") or path[:1] for path in paths]


def _prints_data(given: Given) -> bool:
    return given.has("print-data-log") or any(map(given.has, _DECODERS))


def _decoder(given: Given) -> "Decoder | None":
    if not _prints_data(given):
        return None
    from barnabas.cli.dump import decoders

    if given.offsets_decoder:
        return decoders.OffsetsDecoder()
    if given.transaction_log_decoder:
        return decoders.transaction_decoder()
    if given.cluster_metadata_decoder:
        return decoders.ClusterMetadataDecoder()
    if given.share_group_state_decoder:
        return decoders.share_state_decoder()
    return decoders.UserDecoder(
        decoders.named_decoder(given.key_decoder_class or ""),
        decoders.named_decoder(given.value_decoder_class or ""),
    )


if __name__ == "__main__":
    sys.exit(main())
