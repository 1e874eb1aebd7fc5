"""What a crash leaves of deletions, compactions and splits: passes 1 to 3 of opening a log."""

import logging
from pathlib import Path

from barnabas.base.filesystem import FileSystem
from barnabas.storage import names
from barnabas.storage.batch_scan import iter_file_headers

_logger = logging.getLogger(__name__)


def clear_leftovers(directory: Path, fs: FileSystem) -> list[str]:
    """Remove what is left, complete what was nearly done; the names of the files there are then."""
    return _finish_swaps(directory, fs, _remove_leftovers(directory, fs))


def offset_in(name: str) -> int:
    """The offset that a segment's file starts with; raises OSError for other files."""
    offset = names.offset_of(name)
    if offset is None:
        raise OSError(f"{name} does not start with an offset")
    return offset


def _remove_leftovers(directory: Path, fs: FileSystem) -> list[str]:
    found = fs.listdir(directory)
    cleaned = [name for name in found if name.endswith(names.CLEANED)]
    first_cleaned = min((offset_in(name) for name in cleaned), default=None)
    removed = {name for name in found if name.endswith((names.DELETED, ".tmp"))}
    if first_cleaned is not None:
        removed |= {name for name in found if name.endswith(names.SWAP) and offset_in(name) >= first_cleaned}
    removed |= set(cleaned)
    for name in removed:
        fs.unlink(directory / name)
    return [name for name in found if name not in removed]


def _finish_swaps(directory: Path, fs: FileSystem, found: list[str]) -> list[str]:
    swaps = [name for name in found if name.endswith(names.SWAP)]
    if not swaps:
        return found
    ranges = [_swap_range(directory / name, fs) for name in swaps if name.endswith(names.LOG + names.SWAP)]
    if ranges:
        low, high = min(start for start, _ in ranges), max(end for _, end in ranges)
        for name in found:
            offset = names.offset_of(name)
            if offset is not None and low <= offset < high and not name.endswith(names.SWAP):
                _logger.info("removing %s, which a compacted segment replaces", directory / name)
                fs.unlink(directory / name)
    for name in swaps:
        fs.rename(directory / name, directory / name.removesuffix(names.SWAP))
    fs.sync_dir(directory)
    return fs.listdir(directory)


def _swap_range(path: Path, fs: FileSystem) -> tuple[int, int]:
    """Base offset and next offset of a segment whose files still have `.swap` behind their names."""
    base_offset = following = offset_in(path.name)
    for _, header in iter_file_headers(fs.open(path), 0, fs.size(path)):
        following = header.next_offset
    return base_offset, following
