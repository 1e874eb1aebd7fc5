"""Digests of the newest files in `offsets/` of a query's checkpoint: what Spark has planned.

Spark writes `offsets/<batch>` before it runs a batch and never changes it, so a batch that is replayed has
the same file, and a batch that is planned anew has another one (it carries the time of planning). The driver
reads it when it makes the writer of a batch. Spark passes no file system to Python sinks: only checkpoints
that the driver can read as files are covered, and nothing is known of others (HDFS, object stores).
"""

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlparse

_DIGITS = 16
_log = logging.getLogger("barnabas.spark")


@dataclass(frozen=True, slots=True)
class CheckpointPlans:
    """Of the newest batch and the one before it; empty where the checkpoint cannot be read."""

    digests: Mapping[int, str] = field(default_factory=dict)
    end_offsets: str | None = None
    """Of the newest batch, one JSON text for each source, separated by blanks."""

    def end_offsets_of(self, batch: int) -> str | None:
        return self.end_offsets if self.digests and batch == max(self.digests) else None


def read_plans(location: str | None) -> CheckpointPlans:
    """Of the checkpoint at `location`, a path or a `file:` URI."""
    directory = None if location is None else _local(location)
    if directory is None:
        return CheckpointPlans()
    try:
        numbers = [int(each.name) for each in (directory / "offsets").iterdir() if each.name.isdecimal()]
        newest = sorted(numbers)[-2:]
        contents = {number: (directory / "offsets" / str(number)).read_bytes() for number in newest}
    except FileNotFoundError:
        return CheckpointPlans()
    except OSError as error:
        _log.warning("Checkpoint %s: a restored copy of it cannot be recognised: %s", location, error)
        return CheckpointPlans()
    digests = {number: hashlib.sha256(each).hexdigest()[:_DIGITS] for number, each in contents.items()}
    return CheckpointPlans(digests, _end_offsets(contents[newest[-1]]) if newest else None)


def _local(location: str) -> Path | None:
    parsed = urlparse(location)
    if parsed.scheme == "file":
        return Path(unquote(parsed.path))
    return None if parsed.scheme else Path(location)


def _end_offsets(content: bytes) -> str | None:
    """A version, a line about the batch, then a line for each source; `-` for one without offsets."""
    lines = [line.strip() for line in content.decode(errors="replace").splitlines()[2:]]
    return " ".join(_without_reserved(line) for line in lines if line and line != "-") or None


def _without_reserved(text: str) -> str:
    """Offsets as `startingOffsets` takes them, without the keys that only a checkpoint has."""
    try:
        offsets = json.loads(text)
    except ValueError:
        return text
    if not isinstance(offsets, dict) or not any(key.startswith("@") for key in offsets):
        return text
    return json.dumps({key: value for key, value in offsets.items() if not key.startswith("@")})
