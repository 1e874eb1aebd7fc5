"""Brokers with a planted bug each: the checker names the anomaly that it causes."""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faults.conftest import Serve
from tests.faults.served import Served
from tests.faults.transactions import flaws
from tests.faults.transactions.anomalies import Kind
from tests.faults.transactions.broker_settings import SETTINGS
from tests.faults.transactions.checker import Findings, check
from tests.faults.transactions.client import SOURCE, TARGET
from tests.faults.transactions.crowd import Crowd
from tests.faults.transactions.history import Outcome
from tests.faults.transactions.run import disturb, drain

from barnabas.testing.admin import Admin

pytestmark = pytest.mark.needs("confluent_kafka")
_PARTITIONS = 2
_ROLES = {"producer": 2, "mixer": 3, "reader": 2}
_TRANSFORMING = {"producer": 2, "transformer": 2, "reader": 1}
_MOST_SECONDS = 60.0
RunWith = Callable[..., Crowd]


@pytest.fixture
def run_with(serve: Serve, tmp_path: Path) -> Iterator[RunWith]:
    """Clients at a broker with a flaw, working."""
    crowds: list[Crowd] = []

    def new(flaw: Callable[[], None], roles: dict[str, int]) -> Crowd:
        broker: Served = serve(SETTINGS)
        broker.program = ("tests.faults.transactions.flaws", flaw.__name__)
        broker.start()
        for topic in (SOURCE, TARGET):
            Admin("127.0.0.1", broker.port).create_topic(topic, _PARTITIONS, {})
        directory = tmp_path / "journals"
        directory.mkdir()
        crowds.append(Crowd(f"127.0.0.1:{broker.port}", roles, directory, partitions=_PARTITIONS, pause=0.01))
        crowds[-1].start()
        return crowds[-1]

    yield new
    for crowd in crowds:
        crowd.kill()


def until_found(crowd: Crowd, *kinds: Kind) -> Findings:
    deadline = time.monotonic() + _MOST_SECONDS
    while True:
        time.sleep(0.5)
        findings = check(crowd.history)
        if findings.kinds.keys() >= set(kinds):
            return findings
        assert time.monotonic() < deadline, str(findings)


def until_over(crowd: Crowd, role: str, outcome: Outcome, count: int) -> None:
    """Until so many transactions that sent something have ended so."""
    deadline = time.monotonic() + _MOST_SECONDS
    while True:
        ended = [
            each
            for each in crowd.history.transactions
            if each.process.startswith(role) and each.outcome is outcome and each.ended and each.sends
        ]
        if len(ended) >= count:
            return
        assert time.monotonic() < deadline, f"{len(ended)} {outcome.value} transactions of a {role}"
        time.sleep(0.2)


@pytest.mark.parametrize(
    ("flaw", "kinds"),
    [
        pytest.param(flaw, kinds, id=flaw.__name__)
        for flaw, kinds in (
            (flaws.aborted_transactions_are_not_listed, [Kind.ABORTED_READ]),
            (
                flaws.last_stable_offset_is_ignored,
                [Kind.READ_BEFORE_COMMIT, Kind.PRECOMMITTED_READ, Kind.WRITE_READ_CYCLE],
            ),
            (flaws.commit_reaches_a_partition_as_abort, [Kind.LOST_WRITE]),
            (flaws.repetitions_are_stored, [Kind.DUPLICATE]),
            (
                flaws.earlier_offsets_are_acknowledged,
                [Kind.INCONSISTENT_OFFSET, Kind.NONMONOTONIC_SEND, Kind.INTERNAL_NONMONOTONIC_SEND],
            ),
            (flaws.fetches_begin_too_late, [Kind.SKIPPED_POLL, Kind.INTERNAL_SKIPPED_POLL]),
            (flaws.readers_are_sent_back, [Kind.NONMONOTONIC_POLL, Kind.INTERNAL_NONMONOTONIC_POLL]),
        )
    ],
)
def test_flaw_is_named(run_with: RunWith, flaw: Callable[[], None], kinds: list[Kind]) -> None:
    crowd = run_with(flaw, _ROLES)

    findings = until_found(crowd, *kinds)

    assert all(each.values and str(each) for each in findings.anomalies)


def test_offsets_that_a_commit_drops_are_processed_twice(run_with: RunWith) -> None:
    crowd = run_with(flaws.committed_offsets_are_dropped, _TRANSFORMING)

    until_found(crowd, Kind.PROCESSED_TWICE)


def test_offsets_that_an_abort_keeps_are_never_processed(run_with: RunWith) -> None:
    crowd = run_with(flaws.aborted_offsets_are_committed, _TRANSFORMING)
    until_over(crowd, "transformer", Outcome.ABORTED, 6)
    until_over(crowd, "transformer", Outcome.COMMITTED, 10)
    crowd.finish()
    drain(crowd)

    assert Kind.NEVER_PROCESSED in check(crowd.history).kinds


def test_markers_that_are_not_written_leave_a_transaction_hanging(run_with: RunWith) -> None:
    crowd = run_with(flaws.markers_are_not_written, {"producer": 3})
    until_over(crowd, "producer", Outcome.COMMITTED, 40)
    crowd.finish()

    with pytest.raises(AssertionError, match="a transaction hangs"):
        drain(crowd, patience=4.0)


def test_repetitions_alone_are_no_flaw(run_with: RunWith) -> None:
    crowd = run_with(flaws.repetitions_are_requested, _ROLES)
    disturb(crowd, random.Random(1), 4.0, None)
    crowd.finish()
    drain(crowd)

    findings = check(crowd.history)

    assert not findings.anomalies, findings
