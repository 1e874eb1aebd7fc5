"""The runner with queries that are made up: what it does when one ends, and when one fails."""

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from barnabas.pipelines.common import running
from barnabas.pipelines.common.progress import ProgressLine
from barnabas.pipelines.common.running import Runner
from barnabas.pipelines.common.settings import Settings
from barnabas.pipelines.common.table_lock import InUse, hold, release


class FakeStream:
    """Ends by itself, or with an error, when it has been looked at a few times."""

    def __init__(self, error: str | None, batch: int, looks: int = 3) -> None:
        self.error: str | None = error
        self.batch: int = batch
        self.looks: int = looks
        self.stopped: bool = False
        self.stopped_in_a_batch: bool = False
        self.batch_ends: int = 0

    @property
    def status(self) -> dict[str, Any]:
        self.batch_ends -= 1
        return {"message": "Processing new data", "isTriggerActive": self.batch_ends > 0}

    @property
    def isActive(self) -> bool:  # noqa: N802
        self.looks -= 1
        return self.looks > 0

    def exception(self) -> Exception | None:
        return None if self.error is None else RuntimeError(self.error)

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802
        if self.batch < 0:
            return None
        return {"batchId": self.batch, "processedRowsPerSecond": 1.0, "durationMs": {}, "sources": []}

    def stop(self) -> None:
        self.stopped = True
        self.stopped_in_a_batch = self.batch_ends > 0


@dataclass
class FakeQuery:
    """Each start takes the next stream."""

    name: str
    streams: list[FakeStream]
    started: list[FakeStream] = field(default_factory=list)

    def start(self, settings: Settings) -> FakeStream:
        self.started.append(self.streams[len(self.started)])
        return self.started[-1]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # the locks of checkpoints
    monkeypatch.setattr(running, "_LOOK", 0.001)
    monkeypatch.setattr(running, "_LONGEST_WAIT", 0.001)


def run(*queries: FakeQuery, restarts: int = 2) -> tuple[int, str]:
    log = io.StringIO()
    runner = Runner(Settings(restarts=restarts), ProgressLine(log))
    return runner.run(cast(Any, queries)), log.getvalue()


def test_ends_well_when_all_queries_have_ended() -> None:
    one, two = FakeQuery("one", [FakeStream(None, 4)]), FakeQuery("two", [FakeStream(None, 2, looks=9)])
    assert run(one, two)[0] == 0
    assert all(each.stopped for each in (*one.started, *two.started))


def test_a_failed_query_is_started_again() -> None:
    query = FakeQuery("one", [FakeStream("KafkaError: away", 4), FakeStream(None, 5)])
    status, log = run(query)
    assert (status, len(query.started)) == (0, 2)
    assert "one failed: KafkaError: away\none goes on from its checkpoint\n" in log


def test_a_query_that_fails_too_often_in_a_row_ends_the_pipeline() -> None:
    query = FakeQuery("one", [FakeStream("bad", -1) for _ in range(5)])
    assert run(query)[0] == 1
    assert len(query.started) == 3


@pytest.mark.parametrize("error", ["TableRefused: foreign rows", "InUse: table x is in use by process 7"])
def test_what_no_restart_can_mend_ends_the_pipeline_at_once(error: str) -> None:
    query = FakeQuery("one", [FakeStream(f"barnabas.pipelines.common.table.{error}", 3) for _ in range(5)])
    status, log = run(query)
    assert (status, len(query.started)) == (1, 1)
    assert f"one: {error.partition(': ')[2]}\n" in log
    assert "goes on" not in log


def test_a_checkpoint_that_another_process_uses_is_refused(tmp_path: Path) -> None:
    hold(tmp_path / "warehouse" / "_checkpoints" / "one.lock", "checkpoint one", "another")
    query = FakeQuery("one", [FakeStream(None, 1)])
    try:
        with pytest.raises(InUse, match=r"^checkpoint \S+/one is in use by process \d+"):
            run(query)
    finally:
        release("another")
    assert query.started == []
    assert run(query)[0] == 0


def test_a_batch_that_succeeds_makes_up_for_failures() -> None:
    failing = [FakeStream("bad", batch) for batch in (1, 1, 2, 2, 3)]
    query = FakeQuery("one", [*failing, FakeStream(None, 4)])
    assert run(query)[0] == 0
    assert len(query.started) == 6


def test_a_failure_to_start_stops_what_was_started() -> None:
    one = FakeQuery("one", [FakeStream(None, 1, looks=1000)])
    with pytest.raises(IndexError):
        run(one, FakeQuery("two", []))
    assert one.started[0].stopped


def test_a_query_is_stopped_when_its_batch_has_ended() -> None:
    busy = FakeStream(None, 1, looks=1000)
    busy.batch_ends = 50
    with pytest.raises(IndexError):
        run(FakeQuery("one", [busy]), FakeQuery("two", []))
    assert (busy.stopped, busy.stopped_in_a_batch) == (True, False)
