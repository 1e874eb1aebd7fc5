"""Files that say nonsense: the broker recovers, or ends with one line and a status, never with a traceback.

What is derived from the records (indexes, snapshots, checkpoints) is made anew. What only the file itself can
tell (whose directory this is, which topics there are) stops the start.
"""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from tests.faults.conftest import Serve
from tests.faults.reader import check_lookups, read_all
from tests.faults.served import Served
from tests.faults.test_crash import create_topic
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, produce

from barnabas.base.ids import encode_uuid

_RECORDS = 200


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clean stop left: topic `t` with 200 records in several segments, and `other`."""
    directory = tmp_path_factory.mktemp("left")
    with Served(directory).start() as broker:
        create_topic(broker, "t", {"internal.segment.bytes": 3000, "index.interval.bytes": 200})
        create_topic(broker, "other", {})
        with RawClient(broker.port) as client:
            for number in range(_RECORDS):
                assert produce(client, "t", batch(b"%d" % number)).error_code == 0
            assert produce(client, "other", batch(b"fine")).error_code == 0
        broker.stop()
    return directory / "logs"


@pytest.fixture
def stopped(serve: Serve, left_behind: Path) -> Served:
    """A broker that has not been started again yet."""
    broker = serve()
    shutil.copytree(left_behind, broker.log_dir)
    return broker


def _garbage(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(max(7, path.stat().st_size)))


def _nothing(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


DAMAGES = [_garbage, _nothing, _cut]


def _assert_whole(broker: Served) -> None:
    with RawClient(broker.port) as client:
        records = read_all(client, "t")
        assert [record.value for record in records] == [b"%d" % number for number in range(_RECORDS)]
        check_lookups(client, "t", records, random.Random(2), 50)
        assert produce(client, "t", batch(b"next")).base_offset == _RECORDS
        assert len(read_all(client, "other")) == 1
    broker.assert_no_traceback()


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("clean", [True, False])
def test_files_that_are_derived_from_the_records_are_made_anew(
    stopped: Served, damage: Callable[[Path], None], clean: bool
) -> None:
    if not clean:
        (stopped.log_dir / ".kafka_cleanshutdown").unlink()
    for suffix in ("index", "timeindex", "snapshot"):
        for path in stopped.log_dir.glob(f"t-0/*.{suffix}"):
            damage(path)
    stopped.start()
    _assert_whole(stopped)
    stopped.kill()
    stopped.start()
    with RawClient(stopped.port) as client:
        assert len(read_all(client, "t")) == _RECORDS + 1


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(
    "name",
    ["recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint",
     ".kafka_cleanshutdown"],
)  # fmt: skip
def test_checkpoints_are_made_anew(stopped: Served, damage: Callable[[Path], None], name: str) -> None:
    path = stopped.log_dir / name
    if not path.exists():
        path.write_text("0\n0\n")
    damage(path)
    stopped.start()
    _assert_whole(stopped)


@pytest.mark.parametrize("damage", DAMAGES)
def test_unreadable_leader_epochs_are_read_from_the_batches(
    stopped: Served, damage: Callable[[Path], None]
) -> None:
    damage(stopped.log_dir / "t-0" / "leader-epoch-checkpoint")
    stopped.start()
    with RawClient(stopped.port) as client:
        assert produce(client, "t", batch(b"next")).error_code == 0
        assert len(read_all(client, "other")) == 1
    stopped.assert_no_traceback()


@pytest.mark.parametrize("damage", DAMAGES)
def test_unreadable_identity_stops_the_start(stopped: Served, damage: Callable[[Path], None]) -> None:
    path = stopped.log_dir / "meta.properties"
    damage(path)
    stopped.spawn()
    if stopped.becomes_ready():
        _assert_whole(stopped)
    else:
        _assert_refused(stopped, path)


@pytest.mark.parametrize("damage", [_garbage, _cut])
def test_unreadable_metadata_store_stops_the_start(stopped: Served, damage: Callable[[Path], None]) -> None:
    path = stopped.log_dir / ".barnabas" / "metadata.db"
    damage(path)
    stopped.spawn()
    if stopped.becomes_ready():
        _assert_whole(stopped)
    else:
        _assert_refused(stopped, path)


def _assert_refused(broker: Served, path: Path) -> None:
    assert broker.wait() == 1
    broker.assert_no_traceback()
    assert broker.lines[-1].startswith("barnabas: ")
    assert any(str(path.parent) in line for line in broker.lines), broker.lines


def test_directory_of_another_topic_is_not_taken_for_ours(stopped: Served) -> None:
    """As it is left when a topic was deleted and created anew while its directory was away."""
    other = encode_uuid(UUID(int=12345678901234567890))
    (stopped.log_dir / "t-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {other}")
    stopped.start()
    with RawClient(stopped.port) as client:
        answer = produce(client, "t", batch(b"x"))
        if answer.error_code == 0:
            assert answer.base_offset == 0, "the records of another topic are served as ours"
        else:
            assert answer.error_code in (ErrorCode.kafka_storage_error, ErrorCode.inconsistent_topic_id)
        assert len(read_all(client, "other")) == 1
    assert any("t-0" in line for line in stopped.warnings())
    stopped.assert_no_traceback()


def test_garbage_in_the_middle_of_a_log_cuts_it_after_a_crash(stopped: Served) -> None:
    (stopped.log_dir / ".kafka_cleanshutdown").unlink()
    (stopped.log_dir / "recovery-point-offset-checkpoint").unlink()
    path = sorted(stopped.log_dir.glob("t-0/*.log"))[2]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    stopped.start()
    with RawClient(stopped.port) as client:
        records = read_all(client, "t")
        assert int(path.stem) < len(records) < _RECORDS
        assert produce(client, "t", batch(b"x")).base_offset == len(records)
        assert len(read_all(client, "other")) == 1
    assert any("cutting" in line for line in stopped.warnings())
    stopped.assert_no_traceback()
