"""The defects that a life of topics is there to find, planted one by one in the broker of this process.

Each puts back, as far as a few lines can, what the broker did before the defect was fixed.
"""

from pathlib import Path
from typing import Any

import pytest

from barnabas.base.ids import TopicPartition
from barnabas.broker import broker
from barnabas.records.batch import parse_header
from barnabas.records.deep_validation import ValidatedRecords
from barnabas.records.validation import validate_produced
from barnabas.storage import found_logs
from barnabas.storage import log as log_module
from barnabas.storage.checkpoints import RECOVERY_POINTS, CheckpointFile, MalformedCheckpoint
from barnabas.storage.log_checkpoints import LogCheckpoints
from barnabas.storage.log_loader import LogLoader
from barnabas.storage.logs import Logs
from barnabas.storage.segment import Segment


def log_inherits_the_log_start_of_a_deleted_one(patch: pytest.MonkeyPatch) -> None:
    end_of = LogLoader._end_of

    def drop_what_lies_below(loader: LogLoader, segments: Any, epochs: Any, snapshots: Any) -> int:
        if len(segments) and segments.active.next_offset() < loader.log_start_offset:
            for segment in list(segments):
                loader._drop(segment, segments, snapshots)
            epochs.clear()
        return end_of(loader, segments, epochs, snapshots)

    def believe(path: Path, key: TopicPartition, starts: Any, *_: Any, **__: Any) -> int:
        return int(starts.offsets.get(key, 0))

    patch.setattr(found_logs, "_log_start", believe)
    patch.setattr(LogCheckpoints, "without", lambda *_: [])
    patch.setattr(LogLoader, "_end_of", drop_what_lies_below)


def log_without_a_checkpoint_entry_counts_as_empty(patch: pytest.MonkeyPatch) -> None:
    read = CheckpointFile.read
    entries: dict[Path, set[TopicPartition]] = {}

    def read_and_note(file: CheckpointFile) -> Any:
        found = read(file)
        entries[file.path] = set(found.offsets)
        return found

    def is_known_empty(logs: Logs, key: TopicPartition) -> bool:
        log, cold = logs._table.opened.get(key), logs._table.cold.get(key)
        if log is not None:
            return log.log_start_offset == log.log_end_offset
        return cold is not None and key not in entries[cold.root.path / RECOVERY_POINTS]

    patch.setattr(CheckpointFile, "read", read_and_note)
    patch.setattr(Logs, "is_known_empty", is_known_empty)


def directory_with_an_unrecovered_log_is_marked_clean(patch: pytest.MonkeyPatch) -> None:
    clean_shutdown = Logs.clean_shutdown

    def mark_all(logs: Logs, broker_epoch: int = 0) -> None:
        for cold in logs._table.failed.values():
            cold.needs_recovery = False
        clean_shutdown(logs, broker_epoch)

    patch.setattr(Logs, "clean_shutdown", mark_all)
    patch.setattr(LogLoader, "_end_of_active", lambda _, active: active.find_end()[0])


def preallocated_space_is_left_in_the_files(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Segment, "trim", lambda _: False)
    patch.setattr(LogLoader, "_end_of_active", lambda _, active: active.find_end()[0])


def missing_directories_and_stores_are_made_anew(patch: pytest.MonkeyPatch) -> None:
    for check in ("check_store", "check_directories", "check_partitions"):
        patch.setattr(broker, check, lambda *_: None)
    patch.setattr(broker, "find_store", lambda config: config.metadata_store_path)


def log_that_cannot_be_opened_outlives_its_topic(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Logs, "has_files", lambda logs, key: key in logs._table)
    patch.setattr(Logs, "is_unusable", lambda *_: False)


def indexes_of_aborted_transactions_are_believed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogLoader, "_compare", lambda *_: None)


def damaged_line_of_a_checkpoint_stops_the_start(patch: pytest.MonkeyPatch) -> None:
    read = CheckpointFile.read

    def read_or_fail(file: CheckpointFile) -> Any:
        found = read(file)
        if not found.is_intact and file._fs.exists(file.path) and file._fs.size(file.path):
            raise MalformedCheckpoint(f"{file.path} is damaged")
        return found

    patch.setattr(CheckpointFile, "read", read_or_fail)


def timestamps_of_headers_are_believed(patch: pytest.MonkeyPatch) -> None:
    def believe(records: Any, policy: Any, now_ms: int, **options: Any) -> ValidatedRecords:
        header = parse_header(records)
        if policy.uses_append_time or policy.compact or policy.compression_type != "producer":
            return validate_produced(records, policy, now_ms, **options)
        return ValidatedRecords(
            [header], records, header.record_count, header.max_timestamp, header.last_offset_delta, -1
        )

    patch.setattr(log_module, "validate_produced", believe)
