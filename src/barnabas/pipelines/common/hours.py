"""Hours of a table: which have ended, and which have too many small files. Names only, no files."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from barnabas.pipelines.common.table import TableFile

_SMALL = 0.5
"""Of the target: a file below it is small."""
_HOUR = re.compile(r"date=(\d{4}-\d{2}-\d{2})/hour=(\d{1,2})$")


@dataclass(frozen=True, slots=True)
class Compacted:
    """An hour whose small files were joined."""

    partition: str
    files_before: int
    files_after: int


def is_closed(partition: str, before: datetime) -> bool:
    """Whether the hour had ended at that time. A partition that is no hour is never closed."""
    found = _HOUR.search(partition)
    if found is None:
        return False
    begin = datetime.fromisoformat(found[1]).replace(tzinfo=UTC) + timedelta(hours=int(found[2]))
    return begin + timedelta(hours=1) <= before


def small_files(files: Iterable[TableFile], target_bytes: int, least: int = 2) -> dict[str, list[TableFile]]:
    """By partition, where there are at least so many."""
    found: dict[str, list[TableFile]] = defaultdict(list)
    for file in files:
        if file.size < _SMALL * target_bytes:
            found[file.partition].append(file)
    return {partition: files for partition, files in found.items() if len(files) >= least}
