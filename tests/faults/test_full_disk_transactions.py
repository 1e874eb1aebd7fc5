"""A disk that is full while transactions are decided: what was acknowledged is done when there is room again.

A file that may not grow stands for the full disk, as in test_full_disk: its directory goes offline until the
broker is started again. No request waits for it meanwhile: each gets a response.
"""

import functools
import itertools
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.faults.conftest import Serve
from tests.faults.served import Served
from tests.faults.test_crash import create_topic
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, end_offset, fetch, list_offset, produce
from tests.integration.clients.transaction_requests import (
    COMMITTED,
    Producer,
    described,
    end,
    init,
    new_transactional_id,
    patiently,
    produce_in,
    start,
    wait_for_state,
    wait_for_transaction_coordinator,
    wait_for_values,
)
from tests.patience import PATIENCE

from barnabas.records.batch import iter_headers
from barnabas.records.record import decode_records

_STATE = "__transaction_state"
_CONFIG: dict[str, object] = {"transaction.state.log.num.partitions": 1}
_FILLER = 1 << 19
_LONG_ID = 30_000
"""Makes the log of the coordinator the largest file: each record of it has the id."""
_numbers = itertools.count()
either_end = pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])


def _segment(broker: Served, topic: str) -> Path:
    """The file that a topic of one partition is written to."""
    (found,) = (path for each in broker.log_dirs for path in (each / f"{topic}-0").glob("*.log"))
    return found


def _elsewhere(broker: Served, topic: str) -> Iterator[str]:
    """New topics that are not in the directory of this one: they are given out in turn."""
    taken = _segment(broker, topic).parents[1]
    for number in _numbers:
        name = f"topic-{number}"
        create_topic(broker, name, {})
        if _segment(broker, name).parents[1] != taken:
            yield name


def _allow(broker: Served, size: int) -> None:
    """No file may be larger from now on."""
    resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def _start_again(broker: Served, name: str, *, is_kill: bool = False) -> None:
    broker.assert_no_traceback()
    broker.kill() if is_kill else broker.stop()
    broker.start()
    wait_for_transaction_coordinator(broker.port, name)


@either_end
@pytest.mark.parametrize("is_kill", [False, True], ids=["stop", "kill"])
def test_marker_that_has_no_room_is_written_when_there_is(
    serve: Serve, tmp_path: Path, commit: bool, is_kill: bool
) -> None:
    broker = serve(_CONFIG, log_dirs=[tmp_path / "a", tmp_path / "b"]).start()
    name = new_transactional_id("full", broker.port)
    full = next(_elsewhere(broker, _STATE))
    with RawClient(broker.port) as client:
        assert produce(client, full, batch(bytes(_FILLER))).error_code == 0
        producer = start(client, name)
        assert produce_in(client, producer, full, b"value").error_code == 0
        _allow(broker, _segment(broker, full).stat().st_size)
        ended = end(client, producer, commit=commit)
        assert ended.error_code == 0
        # Decided, and not complete: the next request gets that as an error, and does not wait.
        assert described(client, name).transaction_state == ("PrepareCommit" if commit else "PrepareAbort")
        assert init(client, name).error_code == ErrorCode.concurrent_transactions
        assert end(client, producer, commit=commit).error_code == ErrorCode.concurrent_transactions
        refused = produce(client, full, batch(b"more"))
        assert refused.error_code == ErrorCode.kafka_storage_error
    _start_again(broker, name, is_kill=is_kill)
    with RawClient(broker.port) as client:
        wait_for_state(client, producer, "CompleteCommit" if commit else "CompleteAbort")
        wait_for_values(client, full, [b"value"] if commit else [], offset=1)
        repeated = end(client, producer, commit=commit)
        assert (repeated.error_code, repeated.producer_epoch) == (ErrorCode.none, ended.producer_epoch)
    broker.assert_no_traceback()


def test_other_partitions_of_the_transaction_get_their_markers(serve: Serve, tmp_path: Path) -> None:
    """One full disk does not hold back the consumers of the others."""
    broker = serve(_CONFIG, log_dirs=[tmp_path / "a", tmp_path / "b", tmp_path / "c"]).start()
    name = new_transactional_id("full", broker.port)
    full = next(_elsewhere(broker, _STATE))
    well = next(_elsewhere(broker, full))
    with RawClient(broker.port) as client:
        assert produce(client, full, batch(bytes(_FILLER))).error_code == 0
        producer = start(client, name)
        for topic in (full, well):
            assert produce_in(client, producer, topic, b"value").error_code == 0
        _allow(broker, _segment(broker, full).stat().st_size)
        assert end(client, producer).error_code == 0
        wait_for_values(client, well, [b"value"])
    _start_again(broker, name)
    with RawClient(broker.port) as client:
        wait_for_values(client, full, [b"value"], offset=1)
        wait_for_state(client, producer, "CompleteCommit")
        # The marker that was there is written once more, and does no harm.
        wait_for_values(client, well, [b"value"])


def test_broker_that_ends_for_want_of_room_keeps_its_word(serve: Serve, tmp_path: Path) -> None:
    """The marker takes the only directory offline, and the broker with it."""
    store = {
        "barnabas.metadata.store.path": tmp_path / "store" / "metadata.db",
        "transaction.state.log.replication.factor": 1,
    }
    broker = serve(_CONFIG | store).start()
    name = new_transactional_id("full", broker.port)
    create_topic(broker, "full", {})
    acknowledged = None
    with RawClient(broker.port) as client:
        assert produce(client, "full", batch(bytes(_FILLER))).error_code == 0
        producer = start(client, name)
        assert produce_in(client, producer, "full", b"value").error_code == 0
        _allow(broker, _segment(broker, "full").stat().st_size)
        with suppress(ConnectionError):
            acknowledged = end(client, producer)
    assert broker.wait() == 1
    broker.assert_no_traceback()
    broker.start()
    wait_for_transaction_coordinator(broker.port, name)
    with RawClient(broker.port) as client:
        repeated = patiently(lambda: end(client, producer))
        assert repeated.error_code == 0
        assert acknowledged in (None, repeated)
        wait_for_values(client, "full", [b"value"], offset=1)


def _when_free(ask: Callable[[], Any]) -> Any:
    """The first answer that does not say that markers are being written."""
    deadline = time.monotonic() + PATIENCE
    while (answer := ask()).error_code == ErrorCode.concurrent_transactions:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return answer


def _transact(client: RawClient, producer: Producer, topics: Sequence[str], value: bytes) -> Producer | None:
    """One transaction over the topics: who the producer is after it, or None if it was not acknowledged."""
    for topic in topics:
        if _when_free(functools.partial(produce_in, client, producer, topic, value)).error_code != 0:
            return None
    ended = _when_free(lambda: end(client, producer))
    return Producer(producer.name, ended.producer_id, ended.producer_epoch) if ended.error_code == 0 else None


def _committed(client: RawClient, topic: str) -> list[bytes | None]:
    """When nothing is open. At most the last transaction is aborted."""
    assert list_offset(client, topic, isolation=COMMITTED).offset == end_offset(client, topic)
    answer = fetch(client, topic, 0, isolation=COMMITTED)
    first_aborted = min((each.first_offset for each in answer.aborted_transactions), default=1 << 60)
    return [
        record.value
        for position, header in iter_headers(answer.records)
        if not header.is_control and header.base_offset < first_aborted
        for record in decode_records(answer.records[position : position + header.size])
    ]


@pytest.mark.parametrize("room", range(5))
def test_coordinator_without_room_loses_no_commit_that_it_acknowledged(
    serve: Serve, tmp_path: Path, room: int
) -> None:
    """There is room for so many more of its records: a partition, another one, the outcome, the end."""
    broker = serve(_CONFIG, log_dirs=[tmp_path / "a", tmp_path / "b"]).start()
    name = new_transactional_id("full", broker.port) + "x" * _LONG_ID
    topics = list(itertools.islice(_elsewhere(broker, _STATE), 2))
    with RawClient(broker.port) as client:
        first = _transact(client, start(client, name), topics, b"first")
        assert first is not None
        wait_for_state(client, first, "CompleteCommit")
        _allow(broker, _segment(broker, _STATE).stat().st_size + room * (_LONG_ID + 500))
        second = _transact(client, first, topics, b"second")
        assert (second is not None) is (room >= 3)
        if second is not None:
            assert _transact(client, second, topics, b"third") is None
        # No request hangs: each gets an error.
        assert _when_free(lambda: init(client, name)).error_code == ErrorCode.not_coordinator
    _start_again(broker, name)
    with RawClient(broker.port) as client:
        producer = start(client, name)
        for topic in topics:
            assert _committed(client, topic) == [b"first", b"second"][: 1 if second is None else 2]
        assert _transact(client, producer, topics, b"next") is not None
    broker.assert_no_traceback()
