"""Which offsets a table has, and since which version, for `barnabas pipeline offsets`. Without Spark."""

from barnabas.pipelines.common.delta_table import DeltaLakeTable
from barnabas.pipelines.common.settings import BadSetting
from barnabas.pipelines.common.table import Table
from barnabas.pipelines.common.warehouse import Warehouse, storage_options


class BadTable(BadSetting):
    """No table, or none with what was requested."""


def offsets_in(location: str, options: str = "") -> list[tuple[str, int, int]]:
    """(topic, partition, the first offset that is not in the table). Raises BadTable."""
    return [
        (topic, int(partition), end)
        for topic, ends in sorted(_find(location, options).record().offsets.items())
        for partition, end in sorted(ends.items(), key=lambda each: int(each[0]))
    ]


def version_having(location: str, record: str, options: str = "") -> int:
    """The first version with the record `topic:partition:offset`, for time travel. Raises BadTable."""
    table = _find(location, options)
    if not isinstance(table, DeltaLakeTable):
        raise BadTable(f"{location} is a table of plain Parquet files: it has one version")
    topic, _, rest = record.rpartition(":")[0].rpartition(":")
    offset = record.rpartition(":")[2]
    if not (topic and rest.isdigit() and offset.isdigit()):
        raise BadTable(f"{record!r} is not TOPIC:PARTITION:OFFSET")
    version = table.version_with(topic, int(rest), int(offset))
    if version is None:
        raise BadTable(f"{location} has no offset {offset} of partition {rest} of topic {topic}")
    return version


def _find(location: str, options: str) -> Table:
    root, _, name = location.rstrip("/").rpartition("/")
    table = Warehouse(root or ".", storage_options(options)).find(name)
    if table is None:
        raise BadTable(f"{location} is no table")
    return table
