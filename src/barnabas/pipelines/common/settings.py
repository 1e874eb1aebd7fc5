"""Settings of a pipeline: a frozen dataclass is the table; each field is a flag and an environment variable.

`bootstrap_server` is `--bootstrap-server`, or `BARNABAS_BOOTSTRAP_SERVER`; a flag wins over the
environment, the environment over the default. A pipeline adds its own by a subclass:

    @dataclass(frozen=True, slots=True, kw_only=True)
    class LogSettings(Settings):
        topic: str = setting("access-logs", "The topic of log lines.")
"""

import argparse
import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

_PREFIX = "BARNABAS_"
_YES = {"1", "true", "yes", "on"}
_KINDS: dict[str, type[int] | type[float]] = {"int": int, "float": float}
S = TypeVar("S", bound="Settings")


class BadSetting(ValueError):
    """A setting that cannot be used; the message says which, and why."""


def setting(default: Any, purpose: str) -> Any:
    """A field of settings, with the sentence that `--help` shows for it."""
    return dataclasses.field(default=default, metadata={"purpose": purpose})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What every pipeline takes."""

    bootstrap_server: str = setting("localhost:9092", "Brokers to connect to first, several with commas.")
    warehouse: str = setting(
        "warehouse", "Directory of the tables, shared by driver and executors, or s3://bucket/prefix."
    )
    format: str = setting("delta", "Format of the tables: delta (Delta Lake), or parquet (plain files).")
    storage_options: str = setting("", "Options of an object store, KEY=VALUE with commas [AWS_* variables].")
    target_file_mb: int = setting(128, "About how large files of tables shall be.")
    retention_hours: int = setting(168, "How long replaced files of a Delta table stay, for time travel.")
    take_over: bool = setting(False, "Write into tables that another checkpoint began.")
    checkpoints: str = setting("", "Directory of the queries' checkpoints [<warehouse>/_checkpoints].")
    master: str = setting("local[*,4]", "Spark's master: local, or spark://host:7077.")
    remote: str = setting("", "A Spark Connect server, sc://host:15002, instead of a master.")
    trigger: str = setting("5 seconds", "How often a micro-batch begins.")
    available_now: bool = setting(False, "End when all that is there has been read.")
    starting_offsets: str = setting("earliest", "Where a new checkpoint begins: earliest, latest, or JSON.")
    max_offsets: int = setting(1_000_000, "The most records in one micro-batch.")
    watermark: str = setting("10 minutes", "How late an event may come and still be counted in its window.")
    partitions: int = setting(4, "Partitions of topics that the pipeline has to create.")
    shuffle_partitions: int = setting(0, "Tasks after a shuffle, fixed by the first start [one per core].")
    restarts: int = setting(10, "How often in a row a failed query is started again from its checkpoint.")
    ui: bool = setting(False, "Serve Spark's web pages (port 4040 and on).")

    def checkpoint_of(self, query: str) -> Path:
        """The directory of one query's checkpoint; it survives restarts, and belongs to its tables. Raises
        BadSetting.
        """
        if not self.checkpoints and "://" in self.warehouse:
            raise BadSetting(f"--warehouse {self.warehouse}: an object store needs --checkpoints on a disk")
        root = Path(self.checkpoints) if self.checkpoints else Path(self.warehouse) / "_checkpoints"
        return root.absolute() / query


def read(
    kind: type[S],
    program: str,
    purpose: str,
    arguments: Sequence[str] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> S:
    """Settings from flags and environment. Wrong ones end the process with a message, as argparse does."""
    parser = argparse.ArgumentParser(prog=program, description=purpose, allow_abbrev=False)
    for field in dataclasses.fields(kind):
        _add(parser, field, environment)
    return kind(**vars(parser.parse_args(arguments)))


def _add(
    parser: argparse.ArgumentParser, field: "dataclasses.Field[Any]", environment: Mapping[str, str]
) -> None:
    flag, variable = f"--{field.name.replace('_', '-')}", f"{_PREFIX}{field.name.upper()}"
    given = environment.get(variable)
    purpose = f"{field.metadata['purpose']} (or {variable}"
    if field.type is bool or field.type == "bool":
        default = field.default if given is None else given.strip().lower() in _YES
        parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=default, help=f"{purpose})")
        return
    shown = f"{purpose}; default {field.default})" if field.default != "" else f"{purpose})"
    name = field.type if isinstance(field.type, str) else cast(type, field.type).__name__
    # A default that is a string is converted like a flag, so a wrong variable is reported like a wrong flag.
    parser.add_argument(
        flag,
        type=_KINDS.get(name, str),
        default=field.default if given is None else given,
        help=shown.replace("%", "%%"),
        metavar=name.upper(),
    )
