"""The names of a Raft log's snapshots: `<end offset>-<epoch>.checkpoint`, in 20 and 10 digits."""

import re

from barnabas.cli.dump.unreadable import Unreadable

SUFFIX = ".checkpoint"
BOOTSTRAP = "bootstrap.checkpoint"
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


def snapshot_line(path: str) -> str:
    name = path.rpartition("/")[2]
    if name == BOOTSTRAP:
        return "KRaft bootstrap snapshot"
    found = _NAME.fullmatch(name)
    if found is None:
        raise Unreadable(f"{path} is not named like a snapshot, by end offset and epoch")
    return f"Snapshot end offset: {int(found[1])}, epoch: {int(found[2])}"
