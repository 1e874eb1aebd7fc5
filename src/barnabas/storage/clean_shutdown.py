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


def take_marker(fs: FileSystem, directory: Path) -> bool:
    """Whether the last stop was clean; the marker is gone afterwards."""
    path = directory / CLEAN_SHUTDOWN
    if not fs.exists(path):
        return False
    fs.unlink(path)
    fs.sync_dir(directory)
    return True
