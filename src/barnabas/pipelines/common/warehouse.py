"""`Warehouse`: where the tables of pipelines are: a directory, or a prefix in an object store.

Readers find a table in the format it has; writers in the format of `--format`, and refuse one in the other.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from barnabas.pipelines.common.delta_files import Store
from barnabas.pipelines.common.delta_table import DeltaLakeTable
from barnabas.pipelines.common.parquet_table import ParquetTable
from barnabas.pipelines.common.settings import BadSetting, Settings
from barnabas.pipelines.common.table import MB, Table, TableRefused, WriteOptions

DELTA, PARQUET = "delta", "parquet"


@dataclass(frozen=True, slots=True)
class Warehouse:
    root: str
    storage_options: dict[str, str] = field(default_factory=dict)

    @property
    def is_remote(self) -> bool:
        return "://" in self.root

    def location(self, name: str) -> str:
        if self.is_remote:
            return f"{self.root.rstrip('/')}/{name}"
        return str(Path(self.root).absolute() / name)

    def delta(self, name: str, options: WriteOptions | None = None) -> DeltaLakeTable:
        return DeltaLakeTable(Store(self.location(name), self.storage_options), options)

    def find(self, name: str, options: WriteOptions | None = None) -> Table | None:
        """The table in the format it has. Returns None if the table does not exist or has no rows."""
        delta = self.delta(name, options)
        if delta.exists():
            return delta
        if self.is_remote:
            return None
        parquet = ParquetTable(self.location(name), options)
        return parquet if parquet.files() else None

    def names(self) -> list[str]:
        """Of all tables, by name."""
        return [name for name in self._directories() if self.find(name) is not None]

    def _directories(self) -> list[str]:
        if not self.is_remote:
            root = Path(self.root)
            found = [path.name for path in root.iterdir() if path.is_dir()] if root.is_dir() else []
        else:
            from pyarrow.fs import FileSelector, FileType

            filesystem = Store(self.root, self.storage_options).filesystem()
            listed = filesystem.get_file_info(FileSelector("", recursive=False))
            found = [each.base_name for each in listed if each.type == FileType.Directory]
        return sorted(name for name in found if not name.startswith(("_", ".")))


def warehouse_of(settings: Settings) -> Warehouse:
    """Raises BadSetting."""
    return Warehouse(settings.warehouse, storage_options(settings.storage_options))


def storage_options(text: str) -> dict[str, str]:
    """Raises BadSetting."""
    options = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = pair.partition("=")
        if not equals:
            raise BadSetting(f"--storage-options {pair}: expected KEY=VALUE, several with commas")
        options[key] = value
    return options


def open_table(settings: Settings, name: str, owner: str) -> Table:
    """A table to write to, there or not. Raises BadSetting, and TableRefused for one of the other format."""
    warehouse = warehouse_of(settings)
    options = WriteOptions(owner, settings.take_over, settings.target_file_mb * MB, settings.retention_hours)
    if settings.format not in (DELTA, PARQUET):
        raise BadSetting(f"--format {settings.format}: expected {DELTA} or {PARQUET}")
    if settings.format == PARQUET and warehouse.is_remote:
        raise BadSetting(f"--warehouse {warehouse.root}: an object store needs --format {DELTA}")
    found = warehouse.find(name, options)
    if found is not None and isinstance(found, DeltaLakeTable) != (settings.format == DELTA):
        other = PARQUET if settings.format == DELTA else DELTA
        raise TableRefused(
            f"table {found.location} is in the format {other}: write to it with --format {other}, or use "
            f"another --warehouse"
        )
    if settings.format == DELTA:
        return _kept(warehouse.location(name), tuple(sorted(warehouse.storage_options.items())), options)
    return found or ParquetTable(warehouse.location(name), options)


@lru_cache(maxsize=64)
def _kept(
    location: str, storage_options: tuple[tuple[str, str], ...], options: WriteOptions
) -> DeltaLakeTable:
    """The same one for every batch of a process: it reads only what its log has since the last one."""
    return DeltaLakeTable(Store(location, dict(storage_options)), options)
