"""Compares the storage of the broker's last start with its current configuration.

A broker that does not find its metadata store, one of its log directories or a cleanly closed partition would
continue with empty ones. Producers would write into them, and those records would be hidden when the disk is
mounted again. So the start ends, before any file is changed, with one line that says what is missing.
`barnabas.accept.data.loss` (`barnabas serve --accept-data-loss`) lets it go on.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.tables.own import LOG_DIRECTORIES, METADATA_STORE, PARTITIONS
from barnabas.base.errors import StorageError
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition, encode_uuid
from barnabas.metadata.image import ClusterImage
from barnabas.storage import names
from barnabas.storage.checkpoints import RECOVERY_POINTS, read_checkpoint
from barnabas.storage.clean_shutdown import CLEAN_SHUTDOWN
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.meta_properties import read_meta_properties

logger = logging.getLogger("broker")

_NAMED = 3
"""How many missing items the message names."""


def find_store(config: BrokerConfig) -> Path:
    """The path of the metadata store: as configured, else in a log directory that has one, else the default.

    The default may be beside the log directories (`base.config.store_location`).
    """
    default = config.metadata_store_path
    if config.is_set("barnabas.metadata.store.path"):
        return default
    candidates = {path / ".barnabas" / "metadata.db": None for path in config.log_dirs}
    found = list({path.resolve(): path for path in candidates if path.exists()}.values())
    if len(found) > 1:
        raise StorageError(
            f"there are metadata stores in {' and in '.join(map(str, found))}: "
            "set barnabas.metadata.store.path to the one to use"
        )
    if found and found[0] != default:
        logger.info("The metadata store is %s, not in the first log directory", found[0])
    return found[0] if found else _checked_neighbour(config, default)


def _checked_neighbour(config: BrokerConfig, store: Path) -> Path:
    """Raise StorageError if the store is in a directory of another user: that is another cluster."""
    home = store.parent.parent
    if home in config.log_dirs:
        return store
    owner = next((path.stat().st_uid for path in (store, home) if path.exists()), os.geteuid())
    if owner != os.geteuid():
        raise StorageError(
            f"{home} belongs to another user, so its metadata store is not used: set "
            "barnabas.metadata.store.path to the store of this cluster"
        )
    logger.info("The metadata store is %s, shared with the broker of %s", store, home)
    return store


def check_store(config: BrokerConfig, store: Path, fs: FileSystem) -> None:
    """Raise StorageError if a new store would be created beside partitions that it does not know."""
    if store.exists():
        return
    for path in config.log_dirs:
        count = sum(_has_log(path / str(key), fs) for key in _partitions_in(path, fs))
        if count:
            _refuse(
                config,
                METADATA_STORE,
                f"there is no metadata store at {store}, but {path} holds {count} partitions: restore or "
                f"mount it, or register them with `barnabas adopt {path}`; to begin without any topic",
            )
            return


def check_directories(config: BrokerConfig, known: Mapping[UUID, str], fs: FileSystem) -> None:
    """Raise StorageError if a log directory of the last start is not among those of this start.

    A directory that exists and cannot be read is not missing: it goes offline when the logs are opened.
    """
    present: set[UUID] = set()
    unclear: set[str] = set()
    for path in config.log_dirs:
        try:
            properties = read_meta_properties(fs, path)
        except OSError:
            unclear.add(str(path))
            continue
        if properties is not None and properties.directory_id is not None:
            present.add(properties.directory_id)
        elif properties is not None:
            unclear.add(str(path))
    configured = set(map(str, config.log_dirs))
    lost = [
        f"log directory {path} (directory.id {encode_uuid(directory_id)}) "
        + (
            "is missing: its path is empty or holds another directory"
            if path in configured
            else "is not in log.dirs"
        )
        for directory_id, path in known.items()
        if directory_id not in present and path not in unclear
    ]
    if lost:
        lost += [f"{path}/meta.properties has no directory.id that can be read" for path in sorted(unclear)]
        _refuse(config, LOG_DIRECTORIES, f"{_listed(lost)}: mount or configure it; to go on without it")


def check_partitions(config: BrokerConfig, image: ClusterImage, fs: FileSystem) -> None:
    """Raise StorageError if a partition of this broker is missing that the last clean shutdown closed."""
    present = {key for path in config.log_dirs for key in _partitions_in(path, fs)}
    lost = [
        f"partition {key} (with records up to offset {offset}) is not in {path}"
        for path in config.log_dirs
        for key, offset in _closed_cleanly(path, fs).items()
        if offset > 0 and key not in present and _is_ours(key, image, config.broker_id)
    ]
    if lost:
        _refuse(config, PARTITIONS, f"{_listed(lost)}: restore the directory; to begin with an empty one")


def _closed_cleanly(path: Path, fs: FileSystem) -> dict[TopicPartition, int]:
    with suppress(OSError):
        if fs.exists(path / CLEAN_SHUTDOWN):
            found = read_checkpoint(fs, path / RECOVERY_POINTS)
            return found.offsets if found.is_intact else {}
    return {}


def _is_ours(key: TopicPartition, image: ClusterImage, broker_id: int) -> bool:
    partition = image.partition(*key)
    return partition is not None and broker_id in partition.replicas


def _partitions_in(path: Path, fs: FileSystem) -> list[TopicPartition]:
    with suppress(OSError):
        found = map(names.parse_directory, fs.list_directories(path))
        return [each.topic_partition for each in found if each is not None and not each.mark]
    return []


def _has_log(directory: Path, fs: FileSystem) -> bool:
    """Whether a directory with the name of a partition contains a log."""
    with suppress(OSError):
        return any(name.endswith(names.LOG) for name in fs.listdir(directory))
    return False


def _listed(lost: Sequence[str]) -> str:
    rest = len(lost) - _NAMED
    return "; ".join(lost[:_NAMED]) + (f"; and {rest} more" if rest > 0 else "")


def _refuse(config: BrokerConfig, loss: str, message: str) -> None:
    if loss in config.accepted_losses:
        logger.warning(
            "Continuing, because --accept-data-loss %s is given: %s", loss, message.rpartition(";")[0]
        )
        return
    raise StorageError(f"{message}, start once with --accept-data-loss {loss}")


def directories_to_remember(
    directories: Sequence[LogDirectory], known: Mapping[UUID, str]
) -> dict[UUID, str]:
    """The directories in use, and those that are configured, known and offline."""
    found = {each.directory_id: str(each.path) for each in directories if each.directory_id is not None}
    offline = {str(each.path) for each in directories if not each.is_online}
    kept = {key: path for key, path in known.items() if path in offline and path not in found.values()}
    return {**kept, **found}
