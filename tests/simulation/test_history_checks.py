"""Each check of a history names a history that breaks it, and accepts one that does not."""

from collections.abc import Callable

import pytest
from tests.simulation.history import ALL, GroupCommit, GroupRead, History, Outcome, Read, Transaction, Write
from tests.simulation.history_checks import FinalLog, IsrSizes, check_history, check_min_isr

from barnabas.base.ids import TopicPartition

P = TopicPartition("t", 0)


def _write(value: bytes, offset: int, began: float = 0, ended: float = 1, **rest: object) -> Write:
    write = Write("producer", P, (value,), ALL, began, **rest)  # type: ignore[arg-type]
    write.acknowledge(offset, ended)
    return write


def _refused(value: bytes) -> Write:
    write = Write("producer", P, (value,), ALL, 0)
    write.fail(1)
    return write


def _read(value: bytes, offset: int, *, is_committed: bool = False) -> Read:
    return Read("consumer", P, offset, value, is_committed, 2)


def _commit(offset: int, began: float, ended: float) -> GroupCommit:
    return GroupCommit("g", P, offset, began, Outcome.DONE, ended, is_repeated=False)


def _log(*values: bytes, committed: tuple[bytes, ...] | None = None) -> FinalLog:
    seen = values if committed is None else committed
    return FinalLog(dict(enumerate(values)), {at: each for at, each in enumerate(values) if each in seen})


def _kinds(history: History, log: FinalLog) -> list[str]:
    return [violation.kind for violation in check_history(history, {P: log})]


def _sound() -> tuple[History, FinalLog]:
    """One of everything, with outcomes that are allowed."""
    committed, aborted, undecided = (
        Transaction(n, o) for n, o in enumerate((Outcome.DONE, Outcome.FAILED, Outcome.UNKNOWN))
    )
    writes = [
        _write(b"a", 0, 0, 1),
        _write(b"b", 1, 2, 3),
        _write(b"c", 2, 2, 3, transaction=committed),
        _write(b"d", 3, 2, 3, transaction=aborted),
        _write(b"e", 4, 2, 3, transaction=undecided),
        _refused(b"x"),
        Write("producer", P, (b"unknown and not there",), ALL, 0),
        Write("producer", P, (b"unknown and there",), ALL, 0),
        Write("producer", P, (b"lost with acks=1",), 1, 0, outcome=Outcome.DONE, offset=6, ended=1),
    ]
    history = History(
        writes,
        [_read(b"a", 0), _read(b"d", 3), _read(b"c", 2, is_committed=True)],
        [committed, aborted, undecided],
        [_commit(5, 0, 1), GroupCommit("g", P, 9, 2)],
        [GroupRead("g", P, 5, 3, 4), GroupRead("g", P, 9, 5, 6), GroupRead("g", P, -1, 0, 0.5)],
    )
    log = _log(
        *(b"a", b"b", b"c", b"d", b"e", b"unknown and there"),
        committed=(b"a", b"b", b"c", b"e", b"unknown and there"),
    )
    return history, log


def test_sound_history_has_no_violation() -> None:
    history, log = _sound()
    assert check_history(history, {P: log}) == []


def _lost(history: History) -> FinalLog:
    history.writes = [_write(b"a", 0), _write(b"b", 1)]
    return _log(b"a")


def _replaced(history: History) -> FinalLog:
    history.writes = [_write(b"a", 0), Write("producer", P, (b"z",), ALL, 0)]
    return _log(b"z")


def _duplicate(history: History) -> FinalLog:
    history.writes = [_write(b"a", 0)]
    return _log(b"a", b"a")


def _never_written(history: History) -> FinalLog:
    return _log(b"a")


def _written_although_refused(history: History) -> FinalLog:
    history.writes = [_refused(b"a")]
    return _log(b"a")


def _read_what_is_not_there(history: History) -> FinalLog:
    history.writes = [_write(b"a", 0), Write("producer", P, (b"b",), ALL, 0)]
    history.reads = [_read(b"b", 1)]
    return _log(b"a")


def _lower_offset_later(history: History) -> FinalLog:
    history.writes = [_write(b"b", 1, began=0, ended=1), _write(b"a", 0, began=2, ended=3)]
    return _log(b"a", b"b")


def _aborted_was_read(history: History) -> FinalLog:
    history.writes = [_write(b"a", 0, transaction=Transaction(0))]
    history.reads = [_read(b"a", 0, is_committed=True)]
    return _log(b"a", committed=())


def _aborted_is_visible(history: History) -> FinalLog:
    history.writes = [_write(b"a", 0, transaction=Transaction(0))]
    return _log(b"a")


def _committed_is_not_visible(history: History) -> FinalLog:
    history.writes = [_write(b"a", 0, transaction=Transaction(0, Outcome.DONE))]
    return _log(b"a", committed=())


def _group_offset_forgotten(history: History) -> FinalLog:
    history.commits = [_commit(5, 0, 1)]
    history.group_reads = [GroupRead("g", P, -1, 2, 3)]
    return _log()


def _group_offset_read_back(history: History) -> FinalLog:
    history.group_reads = [GroupRead("g", P, 7, 0, 1), GroupRead("g", P, 5, 2, 3)]
    return _log()


@pytest.mark.parametrize(
    ("kind", "build"),
    [
        ("lost-record", _lost),
        ("replaced-record", _replaced),
        ("duplicate-record", _duplicate),
        ("foreign-record", _never_written),
        ("foreign-record", _written_although_refused),
        ("reads-differ", _read_what_is_not_there),
        ("offset-went-back", _lower_offset_later),
        ("uncommitted-read", _aborted_was_read),
        ("uncommitted-read", _aborted_is_visible),
        ("lost-transaction", _committed_is_not_visible),
        ("group-offset-went-back", _group_offset_forgotten),
        ("group-offset-went-back", _group_offset_read_back),
    ],
)
def test_violation_is_named(kind: str, build: Callable[[History], FinalLog]) -> None:
    history = History()
    log = build(history)
    assert _kinds(history, log) == [kind]


def test_repeated_commit_may_arrive_late() -> None:
    history = History(commits=[_commit(5, 0, 1), _commit(6, 2, 3)])
    history.group_reads = [GroupRead("g", P, 5, 4, 5)]
    assert _kinds(history, _log()) == ["group-offset-went-back"]
    history.commits[0].is_repeated = True
    assert _kinds(history, _log()) == []


def test_deleted_records_are_not_missed() -> None:
    history = History([_write(b"a", 0), _write(b"b", 1)], [_read(b"a", 0)])
    assert _kinds(history, FinalLog({1: b"b"}, {1: b"b"}, start=1)) == []


def test_acknowledgement_below_min_isr_is_named() -> None:
    sizes = IsrSizes()
    for time, size in ((0.0, 3), (10.0, 2), (20.0, 1), (30.0, 2)):
        sizes.note(time, size)
    writes = [
        _write(b"whole", 0, began=1, ended=2),
        _write(b"shrunk meanwhile", 1, began=19, ended=22),
        _write(b"too few", 2, began=21, ended=22),
        _write(b"grown meanwhile", 3, began=25, ended=31),
    ]
    found = check_min_isr(writes, {P: sizes}, 2)
    assert [violation.kind for violation in found] == ["acknowledged-below-min-isr"]
    assert "too few" in found[0].details
