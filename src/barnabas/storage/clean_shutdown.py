"""The file `.kafka_cleanshutdown`: the last thing a clean stop writes into a log directory.

Format: `{"version":0,"brokerEpoch":<n>}`. It is removed, durably, before anything else happens to the
directory: while a broker works on it, and after any crash, it is not there.
"""

import json
from pathlib import Path

from barnabas.base.filesystem import FileSystem

CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


def write_marker(fs: FileSystem, directory: Path, broker_epoch: int) -> None:
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    fs.write_bytes(directory / CLEAN_SHUTDOWN, content.encode(), sync=True)
    fs.sync_dir(directory)


def take_marker(fs: FileSystem, directory: Path) -> int | None:
    """Remove the marker. Returns its broker epoch, 0 if it has none, or None if the last stop was unclean."""
    path = directory / CLEAN_SHUTDOWN
    if not fs.exists(path):
        return None
    content = fs.read_bytes(path)
    fs.unlink(path)
    fs.sync_dir(directory)
    try:
        return max(int(json.loads(content)["brokerEpoch"]), 0)
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0  # The file as older versions of Kafka leave it is empty.
